package feature

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// fields lists the types of columns, in the order of the documentation, and the keys of a Spec
// that each type uses besides name and type.
var fields = []struct{ typ, keys string }{
	{"numeric", "key shape read date_order decimal unit default defaults missing normalize allow_nan sequence"},
	{"bucketized", "of boundaries quantiles"},
	{"hash_bucket", "key buckets dtype sequence"},
	{"words", "key punctuation ngrams buckets vocabulary adapt size min_count oov_buckets"},
	{"vocabulary", "key vocabulary adapt size min_count dtype default oov_buckets sequence"},
	{"vocabulary_file", "key file size dtype default oov_buckets sequence"},
	{"identity", "key buckets default sequence"},
	{"crossed", "keys buckets hash_key"},
	{"weighted", "of weight_key"},
	{"indicator", "of mode"},
	{"embedding", "of dimension combiner stddev max_norm frozen checkpoint tensor"},
	{"shared_embeddings", "columns dimension combiner stddev max_norm frozen checkpoint tensor table"},
}

// types returns the known values of Spec.Type in the order of the documentation.
func types() []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.typ
	}
	return out
}

// Types returns the known values of Spec.Type, sorted.
func Types() []string { return slices.Sorted(slices.Values(types())) }

// checkFields reports a field that is set but not used by the type.
func (s Spec) checkFields() error {
	at := slices.Index(types(), s.Type)
	if at < 0 {
		return fmt.Errorf("unknown type %q: expected one of %s", s.Type, strings.Join(Types(), ", "))
	}
	list := fields[at].keys
	allowed := append(strings.Fields(list), "type")
	if s.Type != "shared_embeddings" {
		allowed = append(allowed, "name")
	}
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if !v.Field(i).IsZero() && !slices.Contains(allowed, name) {
			return fmt.Errorf("%s says nothing about a column of type %s: remove it (known: %s)", name, s.Type, list)
		}
	}
	return nil
}

// build makes the columns of a declaration.
func (s *Set) build(spec Spec) ([]Column, error) {
	if spec.adapts() {
		return nil, errNotAdapted
	}
	switch spec.Type {
	case "numeric":
		return spec.numeric()
	case "bucketized":
		return s.bucketized(spec)
	case "crossed":
		return s.crossed(spec)
	case "weighted", "indicator", "embedding":
		return s.wrapped(spec)
	case "shared_embeddings":
		return s.shared(spec)
	}
	return spec.categorical()
}

func (s Spec) numeric() ([]Column, error) {
	n := Normalizer{Scale: float32(s.Normalize.Scale), Log: s.Normalize.Log, Mean: convert[float32](s.Normalize.Mean), Std: convert[float32](s.Normalize.Std)}
	if s.Missing != "" && s.Missing != missingDefault && s.Missing != missingLargest {
		return nil, fmt.Errorf("missing must be mean, median, most_frequent, default or largest, got %q", s.Missing)
	}
	if s.Missing == missingLargest && (s.Default != nil || len(s.Defaults) > 0 || s.AllowNaN) {
		return nil, fmt.Errorf("missing: largest excludes default, defaults and allow_nan")
	}
	if s.Missing == missingLargest && !reflect.ValueOf(s.Normalize).IsZero() {
		return nil, errLargestNormalized
	}
	if s.Missing != "" && s.Sequence {
		return nil, fmt.Errorf("missing says nothing about a sequence: leave it out")
	}
	if s.Default != nil && len(s.Defaults) > 0 {
		return nil, fmt.Errorf("default and defaults exclude each other")
	}
	if !s.Sequence {
		c := &Numeric{Key: s.Key, Shape: s.Shape, Normalizer: n, AllowNaN: s.AllowNaN, FillNaN: s.Missing == missingDefault, Read: s.reading()}
		c.Alias = s.alias(c)
		if s.Missing == missingLargest {
			c.FillNaN, c.Default = true, []float32{math.MaxFloat32}
		}
		if s.Default != nil {
			c.Default = []float32{float32(*s.Default)}
		}
		if len(s.Defaults) > 0 {
			c.Default = convert[float32](s.Defaults)
		}
		return []Column{c}, nil
	}
	if s.reading() != (Reading{}) {
		return nil, fmt.Errorf("read says nothing about a sequence: leave it out")
	}
	if len(s.Defaults) > 0 {
		return nil, fmt.Errorf("a sequence has one default, not defaults")
	}
	c := &SequenceNumeric{Key: s.Key, Shape: s.Shape, Normalizer: n, AllowNaN: s.AllowNaN}
	if s.Default != nil {
		c.Default = float32(*s.Default)
	}
	return []Column{c}, nil
}

// alias is the declared, unique name of a column if other columns may read its feature in another way; "" for the usual name.
func (s Spec) alias(c *Numeric) string {
	last := s.Missing == missingLargest
	switch {
	case s.Name != "" && (last || c.Name() != c.Key):
		return s.Name
	case last:
		return c.Name() + "_missing_last"
	}
	return ""
}

var errLargestNormalized = fmt.Errorf("missing: largest excludes normalize, which would make an infinite number of the largest: leave one of them out, as trees need none")

// categorical makes a column of one feature.
func (s Spec) categorical() ([]Column, error) {
	d, err := s.dtype()
	if err != nil {
		return nil, err
	}
	id, err := s.id()
	if err != nil {
		return nil, err
	}
	var c Categorical
	switch s.Type {
	case "hash_bucket":
		c = &HashBucket{Key: s.Key, Size: s.Buckets, DType: d}
	case "words":
		if s.Buckets > 0 && (len(s.Vocabulary) > 0 || s.OOVBuckets > 0) {
			return nil, fmt.Errorf("buckets exclude vocabulary, adapt and oov_buckets: all words are hashed to them")
		}
		if s.Punctuation != "" && s.Punctuation != punctuationWords {
			return nil, fmt.Errorf("punctuation must be words, or left out, got %q", s.Punctuation)
		}
		c = &Words{Key: s.Key, Marks: s.Punctuation == punctuationWords, NGrams: s.NGrams, Values: s.Vocabulary, Size: s.Buckets + s.OOVBuckets}
	case "identity":
		c = &Identity{Key: s.Key, Size: s.Buckets, Default: id}
	case "vocabulary_file":
		c = &VocabularyFile{Key: s.Key, File: s.File, Size: s.Size, DType: d, Default: id, OOVBuckets: s.OOVBuckets}
	case "vocabulary":
		v := &Vocabulary{Key: s.Key, Default: id, OOVBuckets: s.OOVBuckets}
		if v.Values = s.Vocabulary; dtypeKind(d) == integer {
			v.Values = nil
			if v.Ints, err = parseInts(s.Vocabulary); err != nil {
				return nil, err
			}
		}
		c = v
	}
	if s.Sequence {
		return []Column{&Sequence{Of: c}}, nil
	}
	return []Column{c}, nil
}

func (s *Set) bucketized(spec Spec) ([]Column, error) {
	c, ok := s.columns[spec.Of]
	if !ok {
		return nil, s.unknown(spec.Of)
	}
	n, ok := c.(*Numeric)
	if !ok {
		return nil, fmt.Errorf("column %q is %v: expected a numeric column", spec.Of, c)
	}
	return []Column{&Bucketized{Of: n, Boundaries: spec.Boundaries}}, nil
}

func (s *Set) crossed(spec Spec) ([]Column, error) {
	if spec.HashKey < 0 {
		return nil, fmt.Errorf("hash_key: expected >= 0, got %d", spec.HashKey)
	}
	c := &Crossed{Size: spec.Buckets, HashKey: uint64(spec.HashKey)}
	for i, k := range spec.Keys {
		switch {
		case (k.Key == "") == (k.Column == ""):
			return nil, fmt.Errorf("keys, entry %d: give the key of a feature or the name of a column", i+1)
		case k.Key != "":
			c.Of = append(c.Of, Key(k.Key))
		default:
			part, ok := s.columns[k.Column]
			if !ok {
				return nil, s.unknown(k.Column)
			}
			c.Of = append(c.Of, part)
		}
	}
	return []Column{c}, nil
}

func (s *Set) wrapped(spec Spec) ([]Column, error) {
	of, err := s.categorical(spec.Of)
	if err != nil {
		return nil, err
	}
	switch spec.Type {
	case "weighted":
		return []Column{&Weighted{Of: of, WeightKey: spec.WeightKey}}, nil
	case "indicator":
		if mode := OutputMode(spec.Mode); mode != "" && mode != Count && mode != MultiHot {
			return nil, fmt.Errorf("mode must be count or multi_hot, got %q", spec.Mode)
		}
		return []Column{&Indicator{Of: of, MultiHot: spec.Mode == string(MultiHot)}}, nil
	}
	e := spec.embedding()
	e.Of = of
	return []Column{&e}, nil
}

func (s Spec) embedding() Embedding {
	return Embedding{Dimension: s.Dimension, Combiner: Combiner(s.Combiner), Stddev: s.Stddev, MaxNorm: s.MaxNorm,
		Frozen: s.Frozen, Checkpoint: s.Checkpoint, Tensor: s.Tensor, Table: s.Table}
}

func (s *Set) shared(spec Spec) ([]Column, error) {
	if len(spec.Columns) == 0 {
		return nil, fmt.Errorf("columns is empty: name the categorical columns that share the table")
	}
	of := make([]Categorical, len(spec.Columns))
	for i, name := range spec.Columns {
		var err error
		if of[i], err = s.categorical(name); err != nil {
			return nil, err
		}
	}
	return SharedEmbeddings(of, spec.embedding()), nil
}
