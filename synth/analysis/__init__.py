"""Looking at lows: statistics, photon transfer, contact sheets."""
