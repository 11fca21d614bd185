package main

import "context"

// treesField trains 100 trees of depth 6 from data in memory to a model: buckets, trees, and what it takes to make and end
// the estimator. XGBoost's test loss is the reference: as good is within 5 %.
func treesField(_ context.Context, s settings, dir string) (field, error) {
	if err := writeTreeCases(dir); err != nil {
		return field{}, err
	}
	argv, err := self("trees", dir)
	check := s.peer("XGBoost", "trees_xgboost.py", dir, "onehot")
	f := field{contenders: []contender{{name: ours, argv: argv}}, check: &check, tolerance: 0.05}
	f.contenders = append(f.contenders, s.peer("XGBoost hist, categories", "trees_xgboost.py", dir, "onehot"),
		s.peer("XGBoost hist, categories as numbers", "trees_xgboost.py", dir, "numbers"))
	return f, err
}
