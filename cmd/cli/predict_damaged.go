package cli

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
)

// skip is the value of on_error that leaves out rows.
const skip = "skip"

// rowsToPredict is the input of predictions. It does not leave out damaged rows just because eval.input does: predictions
// would no longer match the rows.
func (a *app) rowsToPredict(cfg *config.Config, file string) (inputs.Spec, error) {
	in, err := a.predictInput(cfg, file)
	if err != nil || cfg.Predict.OnError == "" && cfg.Predict.Input.Format != "" {
		return in, err
	}
	return in.EachInput(func(s inputs.Spec) inputs.Spec {
		s.OnError = cfg.Predict.OnError
		if s.OnError != skip {
			s.MaxErrors = 0
		}
		return s
	}), nil
}

// unpredictable adds advice about a row that an evaluation would leave out.
func unpredictable(cfg *config.Config, err error) error {
	var row *inputs.DataError
	if !errors.As(err, &row) || cfg.Predict.OnError != "" || cfg.Predict.Input.Format != "" {
		return err
	}
	if !cfg.PredictInput().Skips() {
		return err
	}
	return fmt.Errorf("%w; --set predict.on_error=skip leaves such rows out, so that there are fewer predictions than rows", inputs.WithoutSkipHint(err))
}
