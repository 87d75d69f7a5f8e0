	.file	"<string>"
	.section	.rodata.cst4,"aM",@progbits,4
	.p2align	2, 0x0
.LCPI0_0:
	.long	0x3f000000
.LCPI0_1:
	.long	1065353216
.LCPI0_2:
	.long	8388607
.LCPI0_3:
	.long	0xbd37cdc2
.LCPI0_4:
	.long	0x3e91ffd9
.LCPI0_5:
	.long	0xbf348c54
.LCPI0_6:
	.long	0x3f684b9c
.LCPI0_7:
	.long	0x40400000
.LCPI0_8:
	.long	0xc0000000
.LCPI0_9:
	.long	0xb4000000
.LCPI0_10:
	.long	0x431f0000
.LCPI0_11:
	.long	0x41c80000
.LCPI0_12:
	.long	0xbfc00000
.LCPI0_13:
	.long	1
.LCPI0_14:
	.long	0x80000000
	.section	.ltext,"axl",@progbits
	.globl	_ZN8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE
	.p2align	4
	.type	_ZN8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE,@function
_ZN8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE:
	pushq	%rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	subq	$168, %rsp
	movq	288(%rsp), %rax
	testq	%rax, %rax
	jle	.LBB0_14
	movq	336(%rsp), %rsi
	movq	280(%rsp), %rcx
	movq	224(%rsp), %rdx
	movabsq	$.LCPI0_5, %rbx
	movabsq	$.LCPI0_6, %r14
	movabsq	$.LCPI0_7, %r15
	movabsq	$.LCPI0_8, %r12
	movabsq	$.LCPI0_9, %r13
	movabsq	$.LCPI0_10, %rbp
	movabsq	$.LCPI0_12, %r10
	vmovss	16(%rsi), %xmm4
	vmovss	12(%rsi), %xmm5
	vmovss	8(%rsi), %xmm22
	vmovss	(%rsi), %xmm23
	vmovss	4(%rsi), %xmm24
	vmovss	36(%rsi), %xmm25
	vmovss	32(%rsi), %xmm6
	vmovss	28(%rsi), %xmm7
	vmovss	24(%rsi), %xmm8
	vmovss	20(%rsi), %xmm9
	movabsq	$.LCPI0_0, %rsi
	cmpq	$4, %rax
	jae	.LBB0_3
	xorl	%r8d, %r8d
	jmp	.LBB0_12
.LBB0_3:
	movabsq	$9223372036854775792, %r9
	movabsq	$.LCPI0_1, %r11
	vmovaps	%xmm22, -96(%rsp)
	vmovaps	%xmm24, -112(%rsp)
	cmpq	$16, %rax
	jae	.LBB0_5
	xorl	%r8d, %r8d
	movabsq	$.LCPI0_2, %r9
	jmp	.LBB0_9
.LBB0_5:
	movq	%rax, %r8
	andq	%r9, %r8
	movabsq	$.LCPI0_3, %r9
	vbroadcastss	(%r11), %zmm0
	movabsq	$.LCPI0_11, %r10
	vbroadcastss	(%rsi), %zmm19
	movabsq	$.LCPI0_2, %r11
	vbroadcastss	(%r12), %zmm27
	vbroadcastss	(%r13), %zmm28
	vbroadcastss	(%rbp), %zmm29
	vbroadcastss	%xmm4, %zmm10
	vbroadcastss	%xmm5, %zmm11
	vbroadcastss	%xmm22, %zmm12
	vbroadcastss	%xmm24, %zmm13
	vbroadcastss	%xmm23, %zmm14
	vbroadcastss	%xmm25, %zmm15
	vbroadcastss	%xmm6, %zmm16
	vbroadcastss	%xmm7, %zmm17
	vbroadcastss	%xmm8, %zmm18
	vbroadcastss	%xmm9, %zmm20
	vmovaps	%xmm23, %xmm3
	vmovaps	%xmm25, %xmm2
	xorl	%esi, %esi
	vbroadcastss	(%r9), %zmm21
	movabsq	$.LCPI0_4, %r9
	vbroadcastss	(%r10), %zmm30
	movabsq	$.LCPI0_12, %r10
	vpbroadcastd	(%r11), %zmm31
	vbroadcastss	(%r9), %zmm1
	movabsq	$.LCPI0_13, %r9
	vmovups	%zmm0, 96(%rsp)
	vbroadcastss	(%r10), %zmm0
	vmovups	%zmm21, 32(%rsp)
	vpbroadcastd	(%r9), %zmm21
	movabsq	$.LCPI0_14, %r9
	vmovups	%zmm1, -32(%rsp)
	vbroadcastss	(%r9), %zmm1
	movq	%r11, %r9
	.p2align	4
.LBB0_6:
	vmovdqu64	(%rdx,%rsi,4), %zmm22
	vmovdqu64	96(%rsp), %zmm24
	vmovups	32(%rsp), %zmm25
	vbroadcastss	(%r15), %zmm26
	vpsrld	$1, %zmm22, %zmm23
	vptestnmd	%zmm21, %zmm22, %k1
	vcvtdq2ps	%zmm23, %zmm23
	vaddps	%zmm19, %zmm23, %zmm23
	vpternlogd	$248, %zmm31, %zmm23, %zmm24
	vfmadd213ps	-32(%rsp), %zmm24, %zmm25
	vcvtdq2ps	%zmm23, %zmm23
	vsubps	%zmm24, %zmm26, %zmm26
	vfmadd213ps	%zmm29, %zmm28, %zmm23
	vfmadd213ps	(%rbx){1to16}, %zmm24, %zmm25
	vfmadd213ps	%zmm27, %zmm24, %zmm26
	vfmadd213ps	(%r14){1to16}, %zmm24, %zmm25
	vfnmadd231ps	%zmm26, %zmm25, %zmm23
	vminps	%zmm23, %zmm30, %zmm23
	vsqrtps	%zmm23, %zmm23
	vfmadd213ps	%zmm0, %zmm19, %zmm23
	vmovaps	%zmm23, %zmm24
	vfmadd213ps	%zmm11, %zmm10, %zmm24
	vmovaps	%zmm23, %zmm25
	vfmadd213ps	%zmm16, %zmm15, %zmm25
	vmulps	%zmm23, %zmm23, %zmm26
	vmulps	%zmm26, %zmm26, %zmm26
	vfmadd213ps	%zmm12, %zmm23, %zmm24
	vfmadd213ps	%zmm17, %zmm23, %zmm25
	vfmadd213ps	%zmm13, %zmm23, %zmm24
	vfmadd213ps	%zmm18, %zmm23, %zmm25
	vfmadd213ps	%zmm14, %zmm23, %zmm24
	vfmadd213ps	%zmm20, %zmm23, %zmm25
	vmulps	%zmm26, %zmm23, %zmm23
	vfmadd213ps	%zmm24, %zmm25, %zmm23
	vxorps	%zmm1, %zmm23, %zmm23 {%k1}
	vmovups	%zmm23, (%rcx,%rsi,4)
	addq	$16, %rsi
	cmpq	%rsi, %r8
	jne	.LBB0_6
	vmovaps	-96(%rsp), %xmm22
	vmovaps	-112(%rsp), %xmm24
	movabsq	$.LCPI0_0, %rsi
	cmpq	%r8, %rax
	je	.LBB0_14
	vmovaps	%xmm3, %xmm23
	vmovaps	%xmm2, %xmm25
	testb	$12, %al
	je	.LBB0_12
.LBB0_9:
	vpbroadcastd	(%r9), %xmm11
	movq	%rsi, %r9
	vbroadcastss	(%r9), %xmm21
	movabsq	$.LCPI0_3, %r9
	movq	%rdi, -120(%rsp)
	movabsq	$.LCPI0_1, %rdi
	movabsq	$.LCPI0_4, %r11
	vbroadcastss	%xmm24, %xmm16
	vmovaps	%xmm25, -80(%rsp)
	vbroadcastss	%xmm25, %xmm18
	vbroadcastss	(%rbx), %xmm24
	vbroadcastss	(%r14), %xmm25
	vbroadcastss	(%r10), %xmm1
	vbroadcastss	%xmm22, %xmm15
	movq	%r8, %rsi
	movabsq	$9223372036854775792, %r8
	vbroadcastss	%xmm4, %xmm13
	vbroadcastss	%xmm5, %xmm14
	vbroadcastss	%xmm23, %xmm17
	vbroadcastss	%xmm6, %xmm19
	vbroadcastss	%xmm7, %xmm20
	vbroadcastss	%xmm8, %xmm31
	vmovaps	%xmm4, -32(%rsp)
	vmovaps	%xmm5, -48(%rsp)
	vmovaps	%xmm23, -64(%rsp)
	vbroadcastss	(%r9), %xmm0
	vpbroadcastd	(%rdi), %xmm3
	movabsq	$.LCPI0_13, %rdi
	addq	$12, %r8
	vpbroadcastd	(%rdi), %xmm12
	movq	%rbp, %rdi
	movq	%r13, %rbp
	movq	%r12, %r13
	movq	%r15, %r12
	movq	%r12, %r15
	movq	%r13, %r12
	movq	%rbp, %r13
	movq	%rdi, %rbp
	vbroadcastss	(%rdi), %xmm29
	movabsq	$.LCPI0_11, %rdi
	vbroadcastss	(%r15), %xmm26
	vbroadcastss	(%r12), %xmm27
	vbroadcastss	(%r13), %xmm28
	andq	%rax, %r8
	vbroadcastss	(%rdi), %xmm30
	movabsq	$.LCPI0_14, %rdi
	vbroadcastss	(%rdi), %xmm22
	vmovaps	%xmm0, 96(%rsp)
	vbroadcastss	(%r11), %xmm0
	vmovaps	%xmm0, 32(%rsp)
	vbroadcastss	%xmm9, %xmm0
	.p2align	4
.LBB0_10:
	vmovdqu64	(%rdx,%rsi,4), %xmm23
	vmovaps	96(%rsp), %xmm4
	vmovdqa	%xmm3, %xmm10
	vpsrld	$1, %xmm23, %xmm2
	vptestnmd	%xmm12, %xmm23, %k1
	vcvtdq2ps	%xmm2, %xmm2
	vaddps	%xmm21, %xmm2, %xmm2
	vpternlogd	$248, %xmm11, %xmm2, %xmm10
	vfmadd213ps	32(%rsp), %xmm10, %xmm4
	vcvtdq2ps	%xmm2, %xmm2
	vsubps	%xmm10, %xmm26, %xmm5
	vfmadd213ps	%xmm29, %xmm28, %xmm2
	vfmadd213ps	%xmm27, %xmm10, %xmm5
	vfmadd213ps	%xmm24, %xmm10, %xmm4
	vfmadd213ps	%xmm25, %xmm10, %xmm4
	vfnmadd231ps	%xmm5, %xmm4, %xmm2
	vminps	%xmm2, %xmm30, %xmm2
	vsqrtps	%xmm2, %xmm2
	vfmadd213ps	%xmm1, %xmm21, %xmm2
	vmovaps	%xmm2, %xmm4
	vfmadd213ps	%xmm14, %xmm13, %xmm4
	vmovaps	%xmm2, %xmm5
	vfmadd213ps	%xmm19, %xmm18, %xmm5
	vmulps	%xmm2, %xmm2, %xmm10
	vmulps	%xmm10, %xmm10, %xmm10
	vfmadd213ps	%xmm15, %xmm2, %xmm4
	vfmadd213ps	%xmm20, %xmm2, %xmm5
	vfmadd213ps	%xmm16, %xmm2, %xmm4
	vfmadd213ps	%xmm31, %xmm2, %xmm5
	vfmadd213ps	%xmm17, %xmm2, %xmm4
	vfmadd213ps	%xmm0, %xmm2, %xmm5
	vmulps	%xmm2, %xmm10, %xmm2
	vfmadd213ps	%xmm4, %xmm5, %xmm2
	vxorps	%xmm22, %xmm2, %xmm2 {%k1}
	vmovups	%xmm2, (%rcx,%rsi,4)
	addq	$4, %rsi
	cmpq	%rsi, %r8
	jne	.LBB0_10
	vmovaps	-32(%rsp), %xmm4
	vmovaps	-48(%rsp), %xmm5
	vmovaps	-96(%rsp), %xmm22
	vmovaps	-64(%rsp), %xmm23
	vmovaps	-112(%rsp), %xmm24
	vmovaps	-80(%rsp), %xmm25
	movq	-120(%rsp), %rdi
	movabsq	$.LCPI0_0, %rsi
	movabsq	$.LCPI0_12, %r10
	cmpq	%r8, %rax
	je	.LBB0_14
.LBB0_12:
	movabsq	$.LCPI0_3, %r11
	movabsq	$.LCPI0_4, %r9
	vmovss	(%rsi), %xmm10
	vmovss	(%rbx), %xmm13
	vmovss	(%r14), %xmm14
	vmovss	(%r15), %xmm15
	vmovss	(%r12), %xmm16
	vmovss	(%r13), %xmm17
	vmovss	(%rbp), %xmm18
	vmovss	(%r10), %xmm20
	vmovss	(%r11), %xmm11
	vmovss	(%r9), %xmm12
	movabsq	$.LCPI0_11, %r11
	movabsq	$.LCPI0_14, %r9
	vmovss	(%r11), %xmm19
	vbroadcastss	(%r9), %xmm21
	.p2align	4
.LBB0_13:
	movl	(%rdx,%r8,4), %esi
	vmovaps	%xmm11, %xmm2
	kmovd	%esi, %k1
	shrl	%esi
	vpxord	%xmm29, %xmm29, %xmm29
	vcvtsi2ss	%esi, %xmm29, %xmm0
	vaddss	%xmm0, %xmm10, %xmm0
	vmovd	%xmm0, %esi
	vpxord	%xmm29, %xmm29, %xmm29
	vcvtsi2ss	%esi, %xmm29, %xmm0
	andl	$8388607, %esi
	orl	$1065353216, %esi
	vmovd	%esi, %xmm1
	vfmadd213ss	%xmm12, %xmm1, %xmm2
	vsubss	%xmm1, %xmm15, %xmm3
	vfmadd213ss	%xmm18, %xmm17, %xmm0
	vfmadd213ss	%xmm16, %xmm1, %xmm3
	vfmadd213ss	%xmm13, %xmm1, %xmm2
	vfmadd213ss	%xmm14, %xmm1, %xmm2
	vfnmadd231ss	%xmm3, %xmm2, %xmm0
	vminss	%xmm0, %xmm19, %xmm0
	vsqrtss	%xmm0, %xmm0, %xmm0
	vfmadd213ss	%xmm20, %xmm10, %xmm0
	vmovaps	%xmm0, %xmm1
	vfmadd213ss	%xmm5, %xmm4, %xmm1
	vmovaps	%xmm0, %xmm2
	vfmadd213ss	%xmm6, %xmm25, %xmm2
	vmulss	%xmm0, %xmm0, %xmm3
	vmulss	%xmm3, %xmm3, %xmm3
	vfmadd213ss	%xmm22, %xmm0, %xmm1
	vfmadd213ss	%xmm7, %xmm0, %xmm2
	vfmadd213ss	%xmm24, %xmm0, %xmm1
	vfmadd213ss	%xmm8, %xmm0, %xmm2
	vfmadd213ss	%xmm23, %xmm0, %xmm1
	vfmadd213ss	%xmm9, %xmm0, %xmm2
	vmulss	%xmm3, %xmm0, %xmm0
	vfmadd213ss	%xmm1, %xmm2, %xmm0
	vxorps	%xmm21, %xmm0, %xmm1
	vmovss	%xmm0, %xmm1, %xmm1 {%k1}
	vmovss	%xmm1, (%rcx,%r8,4)
	incq	%r8
	cmpq	%r8, %rax
	jne	.LBB0_13
.LBB0_14:
	movq	$0, (%rdi)
	xorl	%eax, %eax
	addq	$168, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	vzeroupper
	retq
.Lfunc_end0:
	.size	_ZN8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE, .Lfunc_end0-_ZN8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE

	.globl	_ZN7cpython8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE
	.p2align	4
	.type	_ZN7cpython8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE,@function
_ZN7cpython8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	pushq	%r15
	.cfi_def_cfa_offset 24
	pushq	%r14
	.cfi_def_cfa_offset 32
	pushq	%r13
	.cfi_def_cfa_offset 40
	pushq	%r12
	.cfi_def_cfa_offset 48
	pushq	%rbx
	.cfi_def_cfa_offset 56
	subq	$344, %rsp
	.cfi_def_cfa_offset 400
	.cfi_offset %rbx, -56
	.cfi_offset %r12, -48
	.cfi_offset %r13, -40
	.cfi_offset %r14, -32
	.cfi_offset %r15, -24
	.cfi_offset %rbp, -16
	movq	%rsi, %rdi
	leaq	136(%rsp), %rax
	movabsq	$.const.sq, %rsi
	movabsq	$PyArg_UnpackTuple, %r10
	leaq	152(%rsp), %r8
	leaq	144(%rsp), %r9
	movl	$3, %edx
	movl	$3, %ecx
	xorl	%ebx, %ebx
	movq	%rax, (%rsp)
	xorl	%eax, %eax
	callq	*%r10
	testl	%eax, %eax
	je	.LBB1_15
	movabsq	$_ZN08NumbaEnv8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE, %rax
	cmpq	$0, (%rax)
	je	.LBB1_2
	movq	152(%rsp), %rdi
	movabsq	$NRT_adapt_ndarray_from_python, %r15
	leaq	288(%rsp), %rsi
	vxorps	%xmm0, %xmm0, %xmm0
	vmovups	%ymm0, 288(%rsp)
	vmovups	%ymm0, 312(%rsp)
	vzeroupper
	callq	*%r15
	testl	%eax, %eax
	jne	.LBB1_6
	cmpq	$4, 312(%rsp)
	jne	.LBB1_6
	movq	144(%rsp), %rdi
	movq	288(%rsp), %rbx
	movq	320(%rsp), %r12
	leaq	160(%rsp), %rsi
	vxorps	%xmm0, %xmm0, %xmm0
	vmovups	%ymm0, 160(%rsp)
	vmovups	%ymm0, 184(%rsp)
	vzeroupper
	callq	*%r15
	testl	%eax, %eax
	jne	.LBB1_9
	cmpq	$4, 184(%rsp)
	jne	.LBB1_9
	movq	136(%rsp), %rdi
	movq	160(%rsp), %r14
	movq	192(%rsp), %r13
	movq	200(%rsp), %rbp
	leaq	224(%rsp), %rsi
	vxorps	%xmm0, %xmm0, %xmm0
	vmovups	%ymm0, 224(%rsp)
	vmovups	%ymm0, 248(%rsp)
	vzeroupper
	callq	*%r15
	testl	%eax, %eax
	jne	.LBB1_12
	cmpq	$4, 248(%rsp)
	jne	.LBB1_12
	movq	256(%rsp), %rax
	movq	224(%rsp), %r15
	leaq	216(%rsp), %rdi
	movq	%rbp, 64(%rsp)
	movq	%r13, 56(%rsp)
	movq	%r12, (%rsp)
	movq	%rax, 112(%rsp)
	movabsq	$_ZN8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE, %rax
	callq	*%rax
	movabsq	$NRT_decref, %r12
	movq	%rbx, %rdi
	callq	*%r12
	movq	%r14, %rdi
	callq	*%r12
	movq	%r15, %rdi
	callq	*%r12
	movabsq	$_Py_NoneStruct, %rbx
	movabsq	$Py_IncRef, %rax
	movq	%rbx, %rdi
	callq	*%rax
.LBB1_15:
	movq	%rbx, %rax
	addq	$344, %rsp
	.cfi_def_cfa_offset 56
	popq	%rbx
	.cfi_def_cfa_offset 48
	popq	%r12
	.cfi_def_cfa_offset 40
	popq	%r13
	.cfi_def_cfa_offset 32
	popq	%r14
	.cfi_def_cfa_offset 24
	popq	%r15
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	retq
.LBB1_2:
	.cfi_def_cfa_offset 400
	movabsq	$PyExc_RuntimeError, %rdi
	movabsq	$".const.missing Environment: _ZN08NumbaEnv8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE", %rsi
	jmp	.LBB1_3
.LBB1_6:
	movabsq	$PyExc_TypeError, %rdi
	movabsq	$".const.can't unbox array from PyObject into native value.  The object maybe of a different type", %rsi
.LBB1_3:
	movabsq	$PyErr_SetString, %rax
	callq	*%rax
	xorl	%ebx, %ebx
	jmp	.LBB1_15
.LBB1_9:
	movabsq	$PyExc_TypeError, %rdi
	movabsq	$".const.can't unbox array from PyObject into native value.  The object maybe of a different type", %rsi
	movabsq	$PyErr_SetString, %rax
	callq	*%rax
	jmp	.LBB1_13
.LBB1_12:
	movabsq	$PyExc_TypeError, %rdi
	movabsq	$".const.can't unbox array from PyObject into native value.  The object maybe of a different type", %rsi
	movabsq	$PyErr_SetString, %rax
	callq	*%rax
	movabsq	$NRT_decref, %rax
	movq	%r14, %rdi
	callq	*%rax
.LBB1_13:
	movabsq	$NRT_decref, %rax
	movq	%rbx, %rdi
	callq	*%rax
	xorl	%ebx, %ebx
	jmp	.LBB1_15
.Lfunc_end1:
	.size	_ZN7cpython8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE, .Lfunc_end1-_ZN7cpython8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE
	.cfi_endproc

	.globl	cfunc._ZN8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE
	.p2align	4
	.type	cfunc._ZN8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE,@function
cfunc._ZN8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE:
	subq	$152, %rsp
	vmovups	200(%rsp), %xmm0
	movq	256(%rsp), %rax
	leaq	144(%rsp), %rdi
	movq	$0, 144(%rsp)
	movq	%rax, 112(%rsp)
	movabsq	$_ZN8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE, %rax
	vmovups	%xmm0, 56(%rsp)
	movq	%r8, (%rsp)
	callq	*%rax
	movq	144(%rsp), %rax
	addq	$152, %rsp
	retq
.Lfunc_end2:
	.size	cfunc._ZN8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE, .Lfunc_end2-cfunc._ZN8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE

	.weak	NRT_decref
	.p2align	4
	.type	NRT_decref,@function
NRT_decref:
	.cfi_startproc
	testq	%rdi, %rdi
	je	.LBB3_2
	#MEMBARRIER
	lock		decq	(%rdi)
	je	.LBB3_3
.LBB3_2:
	retq
.LBB3_3:
	movabsq	$NRT_MemInfo_call_dtor, %rax
	#MEMBARRIER
	jmpq	*%rax
.Lfunc_end3:
	.size	NRT_decref, .Lfunc_end3-NRT_decref
	.cfi_endproc

	.type	.const.sq,@object
	.section	.lrodata,"al",@progbits
.const.sq:
	.asciz	"sq"
	.size	.const.sq, 3

	.type	_ZN08NumbaEnv8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE,@object
	.comm	_ZN08NumbaEnv8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE,8,8
	.type	".const.missing Environment: _ZN08NumbaEnv8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE",@object
	.p2align	4, 0x0
".const.missing Environment: _ZN08NumbaEnv8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE":
	.asciz	"missing Environment: _ZN08NumbaEnv8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE"
	.size	".const.missing Environment: _ZN08NumbaEnv8__main__2sqB3v21B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAgzgbqgAYFmCWJgA_3dE5ArrayIjLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE", 203

	.type	".const.can't unbox array from PyObject into native value.  The object maybe of a different type",@object
	.p2align	4, 0x0
".const.can't unbox array from PyObject into native value.  The object maybe of a different type":
	.asciz	"can't unbox array from PyObject into native value.  The object maybe of a different type"
	.size	".const.can't unbox array from PyObject into native value.  The object maybe of a different type", 89

	.type	_ZN08NumbaEnv5gloam5synth5noise18symmetric_quantileB2v7B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPMAsTQA_3dEj5ArrayIfLi1E1C7mutable7alignedE,@object
	.comm	_ZN08NumbaEnv5gloam5synth5noise18symmetric_quantileB2v7B54c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPMAsTQA_3dEj5ArrayIfLi1E1C7mutable7alignedE,8,8
	.type	_ZN08NumbaEnv5numba7cpython7numbers11scalar_view12_3clocals_3e4implB2v8B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBFmRMMkiiDmaAIAEf16class_28int32_29,@object
	.comm	_ZN08NumbaEnv5numba7cpython7numbers11scalar_view12_3clocals_3e4implB2v8B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBFmRMMkiiDmaAIAEf16class_28int32_29,8,8
	.type	_ZN08NumbaEnv5numba7cpython7numbers11scalar_view12_3clocals_3e4implB2v9B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBFmRMMkiiDmaAIAEi18class_28float32_29,@object
	.comm	_ZN08NumbaEnv5numba7cpython7numbers11scalar_view12_3clocals_3e4implB2v9B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBFmRMMkiiDmaAIAEi18class_28float32_29,8,8
	.type	_ZN08NumbaEnv5numba7cpython8builtins6ol_min12_3clocals_3e4implB2v4B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBFmRMMkiiDmaAIAE15StarArgUniTupleIfLi2EE,@object
	.comm	_ZN08NumbaEnv5numba7cpython8builtins6ol_min12_3clocals_3e4implB2v4B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBFmRMMkiiDmaAIAE15StarArgUniTupleIfLi2EE,8,8
	.section	".note.GNU-stack","",@progbits
