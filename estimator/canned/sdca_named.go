package canned

import "github.com/goestimator/goestimator/internal/platform/params"

// sdca reads an optimizer {name: sdca, ...}; nil for any other optimizer.
func (r *paramReader) sdca(name string, k kindOfHead) *sdca {
	v := r.Any(name)
	hyper, _ := v.(map[string]any)
	if v != "sdca" && hyper["name"] != "sdca" {
		return nil
	}
	own := &paramReader{Reader: params.Read("", hyper)}
	own.Any("name")
	s := &sdca{loss: logisticLoss, words: r.Words("label_vocabulary"), options: LinearSDCA{ExampleIDColumn: own.text("example_id_column"),
		NumLossPartitions: own.whole("num_loss_partitions", 0), SymmetricL1: own.Float("symmetric_l1_regularization", 0),
		SymmetricL2: own.Float("symmetric_l2_regularization", 1), Adaptive: own.Bool("adaptive", false), Examples: own.whole("num_examples", 0)}}
	if own.Has("symmetric_l2_regularization") && !(s.options.SymmetricL2 > 0) { // 0 of the option is the default
		own.Expect("symmetric_l2_regularization", "> 0")
	}
	own.Any("num_table_shards") // the table is one variable
	if k == numbers {
		s.loss, s.words = squaredLoss, nil
	}
	if k == anyHead {
		r.Expect(name, "another optimizer: sdca trains linear_classifier and linear_regressor")
	}
	if err := own.Done(); err != nil {
		r.Refuse(name, err)
	}
	return s
}
