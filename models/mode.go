package models

import "github.com/goestimator/goestimator/inputs"

// Mode says what a graph is built for; its values are TensorFlow's mode keys.
type Mode = inputs.Mode

// The modes.
const (
	Train   = inputs.Train
	Eval    = inputs.Eval
	Predict = inputs.Predict
)
