package metrics

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// MeanError is the weighted mean over all elements of a prediction error:
// mean_squared_error, mean_absolute_error, mean_absolute_percentage_error or log_loss.
type MeanError struct {
	ratio
	loss  func(label, prediction float64) float64
	check func(name string, t *tensor.Tensor) ([]float64, error) // reads the labels
	final func(mean float64) float64                             // nil: the mean itself
}

// NewMSE returns the mean squared error (tf.keras.metrics.MeanSquaredError).
// Update takes labels, predictions[, weights].
func NewMSE() *MeanError {
	return &MeanError{ratio: newRatio("mse"), loss: squaredError, check: numbers[float64]}
}

// NewRMSE returns the square root of the mean squared error
// (tf.keras.metrics.RootMeanSquaredError). Update takes labels, predictions[, weights].
func NewRMSE() *MeanError {
	return &MeanError{ratio: newRatio("rmse"), loss: squaredError, check: numbers[float64], final: math.Sqrt}
}

// NewMAE returns the mean absolute error (tf.keras.metrics.MeanAbsoluteError).
// Update takes labels, predictions[, weights].
func NewMAE() *MeanError {
	return &MeanError{ratio: newRatio("mae"), loss: absoluteError, check: numbers[float64]}
}

// NewMAPE returns the mean absolute error in percent of the labels
// (tf.keras.metrics.MeanAbsolutePercentageError). The divisor is at least 1e-7. Update takes
// labels, predictions[, weights].
func NewMAPE() *MeanError {
	return &MeanError{ratio: newRatio("mape"), loss: percentageError, check: numbers[float64]}
}

// NewLogLoss returns the binary cross entropy of probabilities, clipped to
// [1e-7, 1-1e-7] (tf.keras.metrics.BinaryCrossentropy). Update takes labels in [0, 1],
// predictions[, weights].
func NewLogLoss() *MeanError {
	return &MeanError{ratio: newRatio("log_loss"), loss: binaryCrossentropy, check: within}
}

// Update implements Accumulator.
func (m *MeanError) Update(ts ...*tensor.Tensor) error {
	a, err := pairArgs(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	labels, err := m.check("labels", a.labels)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	predictions, err := numbers[float64]("predictions", a.predictions)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	m.fold(len(labels), a.weights, func(i int) float64 { return m.loss(labels[i], predictions[i]) })
	return nil
}

// Result implements Accumulator.
func (m *MeanError) Result() Value {
	mean := divNoNaN(m.sums[0], m.sums[1])
	if m.final != nil {
		mean = m.final(mean)
	}
	return scalar(mean)
}

func squaredError(label, prediction float64) float64 {
	d := prediction - label
	return d * d
}

func absoluteError(label, prediction float64) float64 { return math.Abs(prediction - label) }

func percentageError(label, prediction float64) float64 {
	return 100 * math.Abs((label-prediction)/math.Max(math.Abs(label), clipEpsilon))
}

// clipEpsilon is Keras's backend.epsilon(), which keeps probabilities away from 0 and 1.
const clipEpsilon = 1e-7

// clip keeps a probability within [clipEpsilon, 1-clipEpsilon]; NaN stays NaN.
func clip(p float64) float64 { return math.Min(math.Max(p, clipEpsilon), 1-clipEpsilon) }

// binaryCrossentropy is Keras's, which clips, and also adds epsilon inside the logarithms.
func binaryCrossentropy(label, prediction float64) float64 {
	p := clip(prediction)
	return -label*math.Log(p+clipEpsilon) - (1-label)*math.Log(1-p+clipEpsilon)
}
