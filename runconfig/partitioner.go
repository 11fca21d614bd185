package runconfig

import (
	"fmt"
	"regexp"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// Partitioner splits variables along their first dimension.
type Partitioner struct {
	// none, fixed_shards, min_size or max_size. Empty: min_size.
	Kind string `yaml:"kind,omitempty"`
	// fixed_shards: number of shards. min_size, max_size: largest number of shards. 0: the number of parameter servers; for max_size, no limit.
	Shards int `yaml:"shards,omitempty"`
	// min_size: smallest size of a shard in bytes. max_size: largest size of a shard in bytes. 0: 262144 for min_size, 67108864 for max_size.
	Bytes int64 `yaml:"bytes,omitempty"`
	// Variables to split differently. The first entry that matches a variable's name applies.
	Variables []VariablePartitioner `yaml:"variables,omitempty"`
}

// VariablePartitioner splits some variables differently.
type VariablePartitioner struct {
	// Regular expression that matches the whole names of the variables.
	Match string `yaml:"match"`
	// As in strategy.partitioner.
	Kind string `yaml:"kind,omitempty"`
	// As in strategy.partitioner.
	Shards int `yaml:"shards,omitempty"`
	// As in strategy.partitioner.
	Bytes int64 `yaml:"bytes,omitempty"`
}

// Partitioner says how the variables are split.
func (v VariablePartitioner) Partitioner() Partitioner {
	return Partitioner{Kind: v.Kind, Shards: v.Shards, Bytes: v.Bytes}
}

// Fits reports whether v applies to a variable of that name.
func (v VariablePartitioner) Fits(name string) bool {
	re, err := regexp.Compile("^(?:" + v.Match + ")$")
	return err == nil && re.MatchString(name)
}

// set reports whether any field is set.
func (p Partitioner) set() bool {
	return p.Kind != "" || p.Shards != 0 || p.Bytes != 0 || len(p.Variables) > 0
}

func (p Partitioner) validate(prefix string, vs *violation.List) {
	if p.Kind != "" {
		vs.OneOf(prefix+"kind", p.Kind, "none", "fixed_shards", "min_size", "max_size")
	}
	vs.Require(p.Shards >= 0 && p.Shards <= 1<<16, prefix+"shards", p.Shards, "expected 0 to 65536")
	vs.Require(p.Bytes >= 0, prefix+"bytes", p.Bytes, "expected >= 0")
	for i, v := range p.Variables {
		at := fmt.Sprintf("%svariables[%d].", prefix, i)
		vs.Require(v.Match != "", at+"match", v.Match, "expected a regular expression")
		vs.Regexp(at+"match", v.Match)
		v.Partitioner().validate(at, vs)
	}
}
