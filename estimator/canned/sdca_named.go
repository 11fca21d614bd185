package canned

import "github.com/goestimator/goestimator/estimator"

// sdca reads an optimizer {name: sdca, ...}; nil where the optimizer is another.
func (r *paramReader) sdca(name string, k kindOfHead) *sdca {
	v, _ := r.get(name)
	params, _ := v.(map[string]any)
	if v != "sdca" && params["name"] != "sdca" {
		return nil
	}
	own := &paramReader{params: estimator.Params{}}
	for key, v := range params {
		if key != "name" {
			own.params[key] = v
		}
	}
	s := &sdca{loss: logisticLoss, words: r.texts("label_vocabulary"), options: LinearSDCA{ExampleIDColumn: own.text("example_id_column"),
		NumLossPartitions: own.whole("num_loss_partitions"), SymmetricL1: own.number("symmetric_l1_regularization", 0),
		SymmetricL2: own.number("symmetric_l2_regularization", 1), Adaptive: own.truth("adaptive"), Examples: own.whole("num_examples")}}
	if _, given := own.get("symmetric_l2_regularization"); given && !(s.options.SymmetricL2 > 0) { // 0 of the option is the default
		own.refuse("symmetric_l2_regularization", "> 0")
	}
	own.get("num_table_shards") // the table is one variable
	if k == numbers {
		s.loss, s.words = squaredLoss, nil
	}
	if k == anyHead {
		r.refuse(name, "another optimizer: sdca trains linear_classifier and linear_regressor")
	}
	if err := own.done(); err != nil {
		r.fail(name, err)
	}
	return s
}
