// Package registry holds things by name: optimizers, schedules, networks,
// initializers, metrics, models, inputs. A name is registered once, and the error of
// an unknown one lists those that there are.
package registry
