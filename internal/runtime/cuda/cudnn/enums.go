package cudnn

// version is the oldest version whose backend API this package can use.
const version = 90000

// Kinds of descriptors (cudnnBackendDescriptorType_t).
const (
	kindPointwise      = 0
	kindConvolution    = 1
	kindEngine         = 2
	kindEngineConfig   = 3
	kindHeuristic      = 4
	kindPlan           = 5
	kindForward        = 10
	kindFilterGradient = 11
	kindInputGradient  = 12
	kindPointwiseOp    = 13
	kindGraph          = 15
	kindVariantPack    = 16
	kindTensor         = 17
)

// Types of data, modes, heuristics, notes of engines and statuses.
const (
	dataFloat           = 0 // cudnnDataType_t
	dataBFloat16        = 9
	crossCorrelation    = 1 // cudnnConvolutionMode_t
	pointwiseAdd        = 0 // cudnnPointwiseMode_t
	pointwiseRelu       = 100
	heuristicA          = 3 // cudnnBackendHeurMode_t
	heuristicFallback   = 2
	noteTensorCore      = 0 // cudnnBackendNumericalNote_t
	noteDownConvert     = 1
	noteReducedSums     = 2
	noteFFT             = 3
	noteNondeterminist  = 4
	noteWinograd6x6     = 7
	noteWinograd13x13   = 8
	notes               = 10 // the most notes of an engine
	statusSuccess       = 0  // cudnnStatus_t
	statusNotSupported  = 3000
	statusInternalError = 4000
)

// Types of attributes (cudnnBackendAttributeType_t).
const (
	typeHandle          = 0
	typeDataType        = 1
	typeBoolean         = 2
	typeInt64           = 3
	typeFloat           = 4
	typePointer         = 6
	typeConvolutionMode = 7
	typeHeuristicMode   = 8
	typeNumericalNote   = 11
	typePointwiseMode   = 14
	typeDescriptor      = 15
)

// Attributes (cudnnBackendAttributeName_t).
const (
	pointwiseMode      = 0
	pointwisePrecision = 1

	convolutionCompute   = 100
	convolutionMode      = 101
	convolutionDilations = 102
	convolutionStrides   = 103
	convolutionPost      = 104
	convolutionPre       = 105
	convolutionDims      = 106

	heuristicMode    = 200
	heuristicGraph   = 201
	heuristicResults = 202

	configEngine = 300

	planHandle    = 400
	planConfig    = 401
	planWorkspace = 402

	forwardAlpha = 700
	forwardBeta  = 701
	forwardConv  = 702
	forwardW     = 703
	forwardX     = 704
	forwardY     = 705

	inputAlpha = 706
	inputBeta  = 707
	inputConv  = 708
	inputW     = 709
	inputDX    = 710
	inputDY    = 711

	filterAlpha = 712
	filterBeta  = 713
	filterConv  = 714
	filterDW    = 715
	filterX     = 716
	filterDY    = 717

	pointwiseDescriptor = 750
	pointwiseX          = 751
	pointwiseB          = 752
	pointwiseY          = 753

	graphHandle = 800
	graphOps    = 801

	tensorAlignment = 900
	tensorDataType  = 901
	tensorDims      = 902
	tensorStrides   = 903
	tensorID        = 906
	tensorVirtual   = 907

	packIDs       = 1000
	packPointers  = 1001
	packWorkspace = 1003

	engineNotes = 1303
)
