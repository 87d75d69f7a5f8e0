"""Short names of the kinds of numbers that kernels compute with."""

from __future__ import annotations

import numpy as np

i16 = np.int16
i32 = np.int32
i64 = np.int64
u8 = np.uint8
u16 = np.uint16
u32 = np.uint32
u64 = np.uint64
f32 = np.float32
f64 = np.float64
