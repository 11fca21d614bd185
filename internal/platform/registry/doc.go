// Package registry holds named things: optimizers, schedules, networks,
// initializers, metrics, models, inputs. Each name is registered once, and the error
// for an unknown name lists the known ones.
package registry
