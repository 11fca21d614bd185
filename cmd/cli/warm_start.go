package cli

import (
	"errors"
	"fmt"
	"maps"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models/initializers"
)

// warmStart translates model.warm_start; vocabulary files start from data_dir.
func warmStart(cfg *config.Config) (estimator.WarmStart, error) {
	w := cfg.Model.WarmStart
	out := estimator.WarmStart{From: w.From, Vars: w.Vars, Map: w.Map, Partial: w.Partial, Previous: map[string]string{}, Vocabularies: map[string]estimator.VocabInfo{}}
	for _, r := range w.Renames {
		out.Previous[r.Name] = r.Previous
	}
	for i, v := range w.Vocabularies {
		info := estimator.VocabInfo{NewVocab: cfg.InputPath(v.NewVocab), NewVocabSize: v.NewVocabSize, NumOOVBuckets: v.NumOOVBuckets,
			OldVocab: cfg.InputPath(v.OldVocab), OldVocabSize: v.OldVocabSize, Axis: v.Axis}
		if len(v.BackupInitializer) > 0 {
			params := maps.Clone(v.BackupInitializer)
			name, ok := params["name"].(string)
			if !ok {
				return out, fmt.Errorf("vocabularies[%d].backup_initializer: %w", i, errors.New("expected the name of an initializer"))
			}
			delete(params, "name")
			var err error
			if info.BackupInitializer, err = initializers.New(name, params); err != nil {
				return out, fmt.Errorf("vocabularies[%d].backup_initializer: %w", i, err)
			}
		}
		out.Vocabularies[v.Name] = info
	}
	return out, nil
}
