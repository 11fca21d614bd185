// Package costmodel predicts the time of a training step with a ring
// all-reduce and with parameter servers, in closed form and by a discrete-event
// simulation, and compares both with measurements. docs/cost-model.md has the
// formulas, the assumptions and the plots; go run ./docs/costmodel draws them.
//
// All times are seconds, all sizes bytes, all rates per second.
package costmodel
