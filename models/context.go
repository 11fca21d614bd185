package models

// Context is whatever carries a Builder: a *Builder itself, or the model
// context that an Estimator hands to a model_fn. Ops and layers take one first.
type Context interface {
	// Core returns the Builder.
	Core() *Builder
}
