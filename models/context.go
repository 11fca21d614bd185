package models

// Context is implemented by types that carry a Builder: *Builder itself, and the model
// context that an Estimator passes to a model_fn. It is the first argument of ops and
// layers.
type Context interface {
	// Core returns the Builder.
	Core() *Builder
}
