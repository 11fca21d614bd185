package savedmodel

// The names in a SavedModel directory.
const (
	BinaryFile      = "saved_model.pb"
	TextFile        = "saved_model.pbtxt"
	FingerprintFile = "fingerprint.pb" // optional
	VariablesDir    = "variables"
	VariablesPrefix = "variables/variables" // of the bundle
	AssetsDir       = "assets"
	ExtraDir        = "assets.extra"
	WarmUpFile      = "tf_serving_warmup_requests" // in ExtraDir
)

// The tags that TensorFlow gives to graphs.
const (
	TagServe = "serve"
	TagTrain = "train"
	TagEval  = "eval"
)

// DefaultSignature is the key of the signature to use if none is named.
const DefaultSignature = "serving_default"

// Method names of signatures.
const (
	MethodPredict  = "tensorflow/serving/predict"
	MethodClassify = "tensorflow/serving/classify"
	MethodRegress  = "tensorflow/serving/regress"
	MethodTrain    = "tensorflow/supervised/training"
	MethodEval     = "tensorflow/supervised/eval"
)

// Collections of a MetaGraphDef, and the key of the signature for the init op of TensorFlow 2.
const (
	collectionMainOp       = "saved_model_main_op"
	collectionLegacyInitOp = "legacy_init_op"
	collectionAssets       = "saved_model_assets" // AssetFileDefs, each in an Any
	signatureInitOp        = "__saved_model_init_op"
)

// CollectionTrainOp is the collection of the op that a training step runs, a node.
// SavedModels of TensorFlow 2 have a signature for it.
const (
	CollectionTrainOp = "saved_model_train_op"
	signatureTrainOp  = "__saved_model_train_op"
)

// schemaVersion is the version of the format.
const schemaVersion = 1
