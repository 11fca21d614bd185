package optimizers

// Optimizer says how a loss is minimised. The constructors, such as Adam(0.001),
// make one with the usual defaults.
type Optimizer struct {
	Rule         Rule
	LearningRate Schedule
	// WeightDecay is decoupled: each step first subtracts lr*WeightDecay*w from the
	// variable w; for a table, from all its rows.
	WeightDecay float64
	// NoDecay is a regular expression; variables whose full name it matches are not decayed. "": none.
	NoDecay string
	// Transforms are applied in order to the gradients of all groups.
	Transforms []Transform
	// AccumulateSteps is the number of batches whose mean gradient makes one
	// update; 0 is 1. The global step, and with it the schedule, counts batches.
	AccumulateSteps int
	// SlotNames says how slots are named in checkpoints.
	SlotNames SlotNames
	// LossScale scales the loss for differentiation.
	LossScale LossScale
	// SkipNonFinite > 0 skips an update if gradients or loss are NaN or infinite in any replica: no variable, slot
	// or average changes, but the global step advances. More than that many in a row end training with a
	// hooks.NaNLossError. 0 skips none. It is not supported for parameter servers and step functions.
	SkipNonFinite int64
	// Averaging keeps averages of the variables of all groups.
	Averaging Averaging

	err error // of a constructor
}

// Err returns the error of the arguments that o was made with. Minimize also fails with it.
func (o *Optimizer) Err() error { return o.err }

// Transform changes gradients before rules are applied.
type Transform struct {
	Kind  TransformKind
	Limit float64 // > 0
}

// TransformKind names a transform.
type TransformKind string

// The transforms.
const (
	ClipNorm       TransformKind = "clip_norm"        // each gradient to an L2 norm of at most Limit (tf.clip_by_norm)
	ClipValue      TransformKind = "clip_value"       // each element to +-Limit (tf.clip_by_value)
	ClipGlobalNorm TransformKind = "global_clip_norm" // all gradients by one factor, to a joint L2 norm of at most Limit (tf.clip_by_global_norm)
)

// SlotNames is a scheme of names for optimizer state.
type SlotNames string

// The schemes.
const (
	V1Names    SlotNames = "v1"    // "dense/kernel/Adam", "dense/kernel/Adam_1": tf.compat.v1.train; the default
	KerasNames SlotNames = "keras" // "training/Adam/dense/kernel/m": Keras optimizers in tf.estimator
)
