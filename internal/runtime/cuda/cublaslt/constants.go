package cublaslt

// Numbers of cublasLt.h, cublas_api.h and library_types.h; a test compares them with the headers.
const (
	typeFloat32  = 0  // CUDA_R_32F
	typeFloat64  = 1  // CUDA_R_64F
	typeBFloat16 = 14 // CUDA_R_16BF

	computeFloat32 = 68 // CUBLAS_COMPUTE_32F
	computeFloat64 = 70 // CUBLAS_COMPUTE_64F
	computeTF32    = 77 // CUBLAS_COMPUTE_32F_FAST_TF32

	transposed = 1 // CUBLAS_OP_T

	operationTransA      = 3 // CUBLASLT_MATMUL_DESC_TRANSA
	operationTransB      = 4 // CUBLASLT_MATMUL_DESC_TRANSB
	operationEpilogue    = 7 // CUBLASLT_MATMUL_DESC_EPILOGUE
	operationBiasPointer = 8 // CUBLASLT_MATMUL_DESC_BIAS_POINTER

	epilogueRelu = 2 // CUBLASLT_EPILOGUE_RELU
	epilogueBias = 4 // CUBLASLT_EPILOGUE_BIAS

	layoutBatchCount  = 5 // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
	layoutBatchStride = 6 // CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET

	preferenceWorkspace  = 1 // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
	preferenceReductions = 3 // CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK
	preferenceAlignA     = 5 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES
	preferenceAlignB     = 6 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES
	preferenceAlignC     = 7 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES
	preferenceAlignD     = 8 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES

	reductionComputeType = 2 // CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE: the only one allowed besides no reduction
)

const (
	maxCandidates  = 8
	workspaceLimit = 32 << 20 // NVIDIA's recommendation for Hopper
)
