package traffic

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
)

// parse reads the config of one model with the given fields.
func parse(fields string) (*config.ModelConfig, error) {
	c, err := Parse([]byte(`model_config_list { config { name: "m" base_path: "/m" version_labels { key: "stable" value: 1 } ` + fields + ` } }`))
	if err != nil {
		return nil, err
	}
	return c.GetModelConfigList().GetConfig()[0], nil
}

func TestRules(t *testing.T) {
	for fields, want := range map[string]string{
		``: "[] <nil>",
		`traffic { version: 1 weight: 95 } traffic { version: 2 weight: 5 }`: "[{1  95} {2  5}] <nil>",
		`traffic { version_label: "stable" weight: 1 } traffic {version: 0}`: "[{1 stable 1} {0  0}] <nil>",
		`shadow { version: 2 }`: "[] &{2  100 0.001}",
		`shadow { version_label: "stable" percent: 12.5 tolerance: 0.5 }`: "[] &{1 stable 12.5 0.5}",
		`traffic { weight: 1 }`:                                                "model m: traffic: got neither version nor version_label",
		`traffic { version_label: "" weight: 1 }`:                              "model m: traffic: got an empty version_label",
		`traffic { version_label: "x" weight: 1 }`:                             `model m: traffic: no version has the label "x": expected one of version_labels`,
		`shadow { version_label: "x" }`:                                        `model m: shadow: no version has the label "x": expected one of version_labels`,
		`traffic { version: 1 weight: 1 } traffic { version_label: "stable" }`: "model m: traffic: version 1 is there twice",
		`traffic { version: 1 }`:                                               "model m: traffic: all weights are 0: expected one above",
		`traffic { version: 1 weight: 1000000 }`:                               "[{1  1000000}] <nil>",
		`traffic { version: 1 weight: 1000001 }`:                               "model m: traffic: version 1 has weight 1000001, expected at most 1000000",
		`traffic { version: -1 weight: 1 }`:                                    "model m: traffic: got version -1, expected a number from 0",
		`shadow { version: -1 }`:                                               "model m: shadow: got version -1, expected a number from 0",
		`shadow { version: 1 percent: 100.5 }`:                                 "model m: shadow: got 100.5 percent, expected more than 0 and at most 100",
		`shadow { version: 1 percent: -1 }`:                                    "model m: shadow: got -1 percent, expected more than 0 and at most 100",
		`shadow { version: 1 percent: nan }`:                                   "model m: shadow: got NaN percent, expected more than 0 and at most 100",
		`shadow { version: 1 tolerance: inf }`:                                 "model m: shadow: got a tolerance of +Inf, expected a number from 0",
		`shadow { version: 1 tolerance: -1 }`:                                  "model m: shadow: got a tolerance of -1, expected a number from 0",
		`shadow { }`:                                                           "model m: shadow: got neither version nor version_label",
		`traffic { version: 1 weight: -1 }`:                                    "Error parsing text-format tensorflow.serving.ModelServerConfig: 1:127: invalid value for uint32 type: -1",
		`traffc { }`:                                                           "Error parsing text-format tensorflow.serving.ModelServerConfig: 1:98: unknown field: traffc",
		strings.Repeat(`traffic { version: 1 weight: 1 } `, MaxVersions+1):     "model m: traffic: got 65 versions, expected at most 64",
	} {
		m, err := parse(fields)
		var r Rules
		if err == nil {
			r, err = Of(m)
		}
		got := fmt.Sprint(r.Weights, " ", r.Shadow)
		if err != nil {
			got = err.Error()
		}
		if got = strings.ReplaceAll(got, "\u00a0", " "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", fields, got, want)
		}
	}
}

// The limit itself is allowed.
func TestMostVersions(t *testing.T) {
	var b strings.Builder
	for v := range MaxVersions {
		fmt.Fprintf(&b, "traffic { version: %d weight: 1 } ", v)
	}
	m, err := parse(b.String())
	if err == nil {
		_, err = Of(m)
	}
	if err != nil {
		t.Error(err)
	}
}

// Rules stay with a config that is sent, cloned and compared as TensorFlow Serving's type.
func TestRoundTrip(t *testing.T) {
	m, err := parse(`traffic { version_label: "stable" weight: 9 } traffic { version: 2 weight: 1 } shadow { version: 3 percent: 5 tolerance: 0.1 }`)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(proto.CloneOf(m))
	if err != nil {
		t.Fatal(err)
	}
	var sent config.ModelConfig
	if err := proto.Unmarshal(b, &sent); err != nil || !proto.Equal(&sent, m) {
		t.Fatalf("%v\n%v\n%v", err, &sent, m)
	}
	r, err := Of(&sent)
	if err != nil || fmt.Sprint(r.Versions()) != "[1 2 3]" {
		t.Fatal(r, err)
	}
	other := &config.ModelConfig{Name: "m", BasePath: "/m", VersionLabels: m.VersionLabels}
	if err := Set(other, Rules{Weights: []Weight{{Version: 7, Weight: 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := Set(other, r); err != nil || !proto.Equal(other, m) {
		t.Errorf("%v\n got %v\nwant %v", err, other, m)
	}
	if err := Set(other, Rules{}); err != nil || len(other.ProtoReflect().GetUnknown()) != 0 {
		t.Errorf("%v: %v is left", err, other)
	}
}

// Unknown fields of other programs are not an error; damaged fields of this package are.
func TestUnknownFields(t *testing.T) {
	m := &config.ModelConfig{Name: "m"}
	m.ProtoReflect().SetUnknown([]byte{0xa0, 0x1f, 1}) // field 500
	if r, err := Of(m); err != nil || len(r.Weights) != 0 {
		t.Error(r, err)
	}
	m.ProtoReflect().SetUnknown([]byte{0xca, 0x3e, 2, 0x18}) // traffic, cut off
	if r, err := Of(m); err == nil {
		t.Error(r)
	}
}

// Schema, which the docs show, agrees with the descriptor.
func TestSchema(t *testing.T) {
	types, err := extended()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range protodesc.ToDescriptorProto(types.model).GetField() {
		if f.GetNumber() < trafficField {
			continue
		}
		m := types.model.Fields().ByName("traffic").Message()
		if f.GetName() == shadowName {
			m = types.model.Fields().ByName("shadow").Message()
		}
		if line := fmt.Sprintf(" %s = %d;", f.GetName(), f.GetNumber()); !strings.Contains(Schema, line) {
			t.Errorf("no %q", line)
		}
		for i := range m.Fields().Len() {
			field := m.Fields().Get(i)
			if line := fmt.Sprintf("    %s %s = %d;", field.Kind(), field.Name(), field.Number()); !strings.Contains(Schema, line) {
				t.Errorf("no %q", line)
			}
		}
	}
}

func all(int64) bool { return true }

// Any consecutive requests, and every second or third one, are divided by the weights.
func TestShares(t *testing.T) {
	s := Rules{Weights: []Weight{{Version: 1, Weight: 90}, {Version: 2, Weight: 9}, {Version: 3, Weight: 1}, {Version: 4}}}.Among(all)
	for _, every := range []int{1, 2, 3} {
		var turns Sequence
		got := map[int64]float64{}
		const n = 3000
		for i := range n {
			v := s.Pick(turns.Next())
			if i%every == 0 {
				got[v] += float64(every)
			}
		}
		for v := int64(1); v <= 4; v++ {
			if d := math.Abs(got[v]/n - s.Share(v)); d > 0.005 {
				t.Errorf("version %d of every request %d: got %v, expected %v", v, every, got[v]/n, s.Share(v))
			}
		}
	}
	if s.Main() != 1 || s.Share(4) != 0 {
		t.Error(s.Main(), s.Share(4))
	}
	for _, p := range []float64{0, 1 - 1.0/(1<<53)} {
		if v := s.Pick(p); v != 1 && v != 3 {
			t.Errorf("at %v: %d", p, v)
		}
	}
}

func TestGone(t *testing.T) {
	r := Rules{Weights: []Weight{{Version: 1, Weight: 3}, {Version: 2, Weight: 1}, {Version: 3, Weight: 4}}}
	s := r.Among(func(v int64) bool { return v != 3 })
	if s.Share(1) != 0.75 || s.Share(2) != 0.25 || s.Share(3) != 0 {
		t.Error(s)
	}
	if s := r.Among(func(int64) bool { return false }); !s.Empty() {
		t.Error(s)
	}
}

// A key keeps its version, across calls and when another version's weight grows, unless that version gains the key; shares match the weights.
func TestKeys(t *testing.T) {
	const n = 20000
	pick := func(first, second uint32) []int64 {
		s := Rules{Weights: []Weight{{Version: 1, Weight: first}, {Version: 2, Weight: second}, {Version: 3, Weight: 10}}}.Among(all)
		out := make([]int64, n)
		for i := range out {
			out[i] = s.PickBy(fmt.Sprint("user ", i))
			if again := s.PickBy(fmt.Sprint("user ", i)); again != out[i] {
				t.Fatalf("user %d: %d and %d", i, out[i], again)
			}
		}
		return out
	}
	before, after := pick(85, 5), pick(85, 10)
	got := map[int64]float64{}
	for i, v := range after {
		got[v]++
		if v != before[i] && v != 2 {
			t.Fatalf("user %d moved from %d to %d, as 2 got more", i, before[i], v)
		}
	}
	for v, want := range map[int64]float64{1: 85. / 105, 2: 10. / 105, 3: 10. / 105} {
		if math.Abs(got[v]/n-want) > 0.01 {
			t.Errorf("version %d: got %v of the keys, expected %v", v, got[v]/n, want)
		}
	}
}

// Concurrent callers take turns, each once.
func TestConcurrentTurns(t *testing.T) {
	var turns Sequence
	var work sync.WaitGroup
	var mu sync.Mutex
	seen := map[float64]bool{}
	for range 4 {
		work.Go(func() {
			for range 250 {
				x := turns.Next()
				mu.Lock()
				seen[x] = true
				mu.Unlock()
			}
		})
	}
	work.Wait()
	if len(seen) != 1000 {
		t.Errorf("%d points of 1000 calls", len(seen))
	}
}

func FuzzOf(f *testing.F) {
	for _, fields := range []string{``, `traffic { version: 1 weight: 95 } shadow { version_label: "stable" percent: 3 }`} {
		m, err := parse(fields)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(m.ProtoReflect().GetUnknown()))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &config.ModelConfig{Name: "m"}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		r, err := Of(m)
		if err != nil {
			return
		}
		s := r.Among(all)
		if s.Empty() != (len(r.Weights) == 0) {
			t.Errorf("%v: %v", r, s)
		}
		if !s.Empty() && (s.Share(s.Pick(0.5)) <= 0 || s.Share(s.PickBy("key")) <= 0) {
			t.Errorf("%v: a version without weight", r)
		}
	})
}
