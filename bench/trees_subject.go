package main

import "context"

// treesField trains 100 trees of depth 6 from data in memory to a model. This includes buckets, trees, and creating and closing
// the estimator. XGBoost's test loss is the reference; losses within 5 % count as equal.
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
