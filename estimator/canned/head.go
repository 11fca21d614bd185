package canned

import (
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/models/losses"
)

// classifier is the head of a canned classifier.
func classifier(classes int, weightColumn string, vocabulary []string, r losses.Reduction) (heads.Head, error) {
	if classes == 0 {
		classes = 2
	}
	opts := options(weightColumn, r)
	if len(vocabulary) > 0 {
		opts = append(opts, heads.WithLabelVocabulary(vocabulary...))
	}
	return checkedHead(heads.ForClasses(classes, opts...))
}

// regressor is the head of a canned regressor.
func regressor(dimension int, weightColumn string, r losses.Reduction) (heads.Head, error) {
	if dimension == 0 {
		dimension = 1
	}
	return checkedHead(heads.Regression(dimension, options(weightColumn, r)...))
}

// checkedHead returns a head if its options are valid.
func checkedHead(h heads.Head) (heads.Head, error) {
	if err := heads.Check(h); err != nil {
		return nil, err
	}
	return h, nil
}

func options(weightColumn string, r losses.Reduction) []heads.Option {
	var opts []heads.Option
	if weightColumn != "" {
		opts = append(opts, heads.WithWeightColumn(weightColumn))
	}
	if r != "" {
		opts = append(opts, heads.WithLossReduction(r))
	}
	return opts
}

// newEstimator is estimator.New for the model of an options struct.
func newEstimator[M estimator.ModelFn](modelFn func() (M, error), opts []estimator.Option) (*estimator.Estimator, error) {
	m, err := modelFn()
	if err != nil {
		return nil, err
	}
	return estimator.New(m, opts...)
}
