package traffic

import (
	"fmt"
	"math"

	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Limits on rules.
const (
	MaxVersions = 64      // with weights
	MaxWeight   = 1000000 // of one version
)

// DefaultTolerance is the allowed difference between numbers if a Shadow sets none.
const DefaultTolerance = 1e-3

// Rules divide the requests of a model.
type Rules struct {
	Weights []Weight // of versions, for requests that name none; empty: all go to the newest
	Shadow  *Shadow  // nil: no version gets copies
}

// Weight is the share of a version, in proportion to the others.
type Weight struct {
	Version int64
	Label   string // instead of Version, if not empty
	Weight  uint32
}

// Shadow is the version that gets copies of requests.
type Shadow struct {
	Version   int64
	Label     string  // instead of Version, if not empty
	Percent   float64 // of the requests that other versions answer, in (0, 100]
	Tolerance float64 // allowed difference between numbers of two answers, relative to the larger one, or to 1 if that is larger
}

// Of returns the rules of a model, with labels replaced by their versions. It returns an error if the rules are invalid.
func Of(m *config.ModelConfig) (Rules, error) {
	r, err := read(m)
	if err != nil {
		return r, err
	}
	for i := range r.Weights {
		w := &r.Weights[i]
		if w.Version, err = resolve(m, trafficName, w.Version, w.Label); err != nil {
			return r, err
		}
	}
	if s := r.Shadow; s != nil {
		if s.Version, err = resolve(m, shadowName, s.Version, s.Label); err != nil {
			return r, err
		}
	}
	return r, r.validate(m.GetName())
}

// resolve returns the version that a label names.
func resolve(m *config.ModelConfig, field string, version int64, label string) (int64, error) {
	if label == "" {
		return version, nil
	}
	n, ok := m.GetVersionLabels()[label]
	if !ok {
		return 0, fmt.Errorf("model %s: %s: no version has the label %q: expected one of version_labels", m.GetName(), field, label)
	}
	return n, nil
}

func (r Rules) validate(model string) error {
	if len(r.Weights) > MaxVersions {
		return fmt.Errorf("model %s: traffic: got %d versions, expected at most %d", model, len(r.Weights), MaxVersions)
	}
	sum, seen := uint64(0), map[int64]bool{}
	for _, w := range r.Weights {
		switch {
		case w.Version < 0:
			return fmt.Errorf("model %s: traffic: got version %d, expected a number from 0", model, w.Version)
		case w.Weight > MaxWeight:
			return fmt.Errorf("model %s: traffic: version %d has weight %d, expected at most %d", model, w.Version, w.Weight, MaxWeight)
		case seen[w.Version]:
			return fmt.Errorf("model %s: traffic: version %d is there twice", model, w.Version)
		}
		seen[w.Version] = true
		sum += uint64(w.Weight)
	}
	if len(r.Weights) > 0 && sum == 0 {
		return fmt.Errorf("model %s: traffic: all weights are 0: expected one above", model)
	}
	s := r.Shadow
	switch {
	case s == nil:
	case s.Version < 0:
		return fmt.Errorf("model %s: shadow: got version %d, expected a number from 0", model, s.Version)
	case !(s.Percent > 0 && s.Percent <= 100):
		return fmt.Errorf("model %s: shadow: got %v percent, expected more than 0 and at most 100", model, s.Percent)
	case !(s.Tolerance >= 0) || math.IsInf(s.Tolerance, 1):
		return fmt.Errorf("model %s: shadow: got a tolerance of %v, expected a number from 0", model, s.Tolerance)
	}
	return nil
}

// Versions returns the versions that the rules name. They are served in addition to all others.
func (r Rules) Versions() []int64 {
	var out []int64
	for _, w := range r.Weights {
		out = append(out, w.Version)
	}
	if r.Shadow != nil {
		out = append(out, r.Shadow.Version)
	}
	return out
}

// Set replaces the rules of a model.
func Set(m *config.ModelConfig, r Rules) error {
	types, err := extended()
	if err != nil {
		return err
	}
	d := dynamicpb.NewMessage(types.model)
	if err := convert(m, d); err != nil {
		return err
	}
	traffic, shadow := types.model.Fields().ByNumber(trafficField), types.model.Fields().ByNumber(shadowField)
	d.Clear(traffic)
	d.Clear(shadow)
	for _, w := range r.Weights {
		e := d.Mutable(traffic).List().AppendMutable().Message()
		choose(e, w.Version, w.Label)
		e.Set(e.Descriptor().Fields().ByName("weight"), protoreflect.ValueOfUint32(w.Weight))
	}
	if s := r.Shadow; s != nil {
		e := d.Mutable(shadow).Message()
		choose(e, s.Version, s.Label)
		e.Set(e.Descriptor().Fields().ByName("percent"), protoreflect.ValueOfFloat64(s.Percent))
		e.Set(e.Descriptor().Fields().ByName("tolerance"), protoreflect.ValueOfFloat64(s.Tolerance))
	}
	proto.Reset(m)
	return convert(d, m)
}

// choose sets the version_choice of a message.
func choose(m protoreflect.Message, version int64, label string) {
	if label != "" {
		m.Set(m.Descriptor().Fields().ByName("version_label"), protoreflect.ValueOfString(label))
		return
	}
	m.Set(m.Descriptor().Fields().ByName("version"), protoreflect.ValueOfInt64(version))
}

// read returns the rules as the config has them.
func read(m *config.ModelConfig) (r Rules, err error) {
	unknown := m.ProtoReflect().GetUnknown()
	if len(unknown) == 0 {
		return r, nil
	}
	types, err := extended()
	if err != nil {
		return r, err
	}
	d := dynamicpb.NewMessage(types.model)
	if err := proto.Unmarshal(unknown, d); err != nil {
		return r, fmt.Errorf("model %s: fields that are not known: %w", m.GetName(), err)
	}
	list := d.Get(types.model.Fields().ByNumber(trafficField)).List()
	if list.Len() > MaxVersions {
		return r, fmt.Errorf("model %s: traffic: got %d versions, expected at most %d", m.GetName(), list.Len(), MaxVersions)
	}
	for i := range list.Len() {
		e := list.Get(i).Message()
		w := Weight{Weight: uint32(get(e, "weight").Uint())}
		if w.Version, w.Label, err = chosen(m, e, trafficName); err != nil {
			return r, err
		}
		r.Weights = append(r.Weights, w)
	}
	if f := types.model.Fields().ByNumber(shadowField); d.Has(f) {
		e := d.Get(f).Message()
		s := &Shadow{Percent: get(e, "percent").Float(), Tolerance: get(e, "tolerance").Float()}
		if s.Percent == 0 {
			s.Percent = 100
		}
		if s.Tolerance == 0 {
			s.Tolerance = DefaultTolerance
		}
		s.Version, s.Label, err = chosen(m, e, shadowName)
		r.Shadow = s
	}
	return r, err
}

func get(m protoreflect.Message, field protoreflect.Name) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(field))
}

// chosen reads the version_choice of a message.
func chosen(m *config.ModelConfig, e protoreflect.Message, field string) (version int64, label string, err error) {
	which := e.WhichOneof(e.Descriptor().Oneofs().ByName("version_choice"))
	switch {
	case which == nil:
		err = fmt.Errorf("model %s: %s: got neither version nor version_label", m.GetName(), field)
	case which.Name() == "version":
		version = e.Get(which).Int()
	default:
		if label = e.Get(which).String(); label == "" {
			err = fmt.Errorf("model %s: %s: got an empty version_label", m.GetName(), field)
		}
	}
	return version, label, err
}
