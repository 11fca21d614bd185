package inputs

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wavFile returns a sound with 16 bits per sample.
func wavFile(channels, rate int, samples ...int16) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("RIFF\x00\x00\x00\x00WAVEfmt "), 16)
	b = le.AppendUint32(le.AppendUint16(le.AppendUint16(b, 1), uint16(channels)), uint32(rate))
	b = le.AppendUint16(le.AppendUint16(le.AppendUint32(b, uint32(rate*channels*2)), uint16(2*channels)), 16)
	b = le.AppendUint32(append(b, "data"...), uint32(2*len(samples)))
	for _, v := range samples {
		b = le.AppendUint16(b, uint16(v))
	}
	return b
}

const half, quarter = 1 << 14, 1 << 13

func words(t testing.TB) string {
	return imageFiles(t, map[string][]byte{
		"yes/a.wav": wavFile(1, 8000, half, 0, -half, 0), "yes/b.WAV": wavFile(1, 8000, quarter, 0, 0, quarter),
		"no/c.wav": wavFile(1, 8000, 0, half, 0, 0), "no/readme.txt": nil,
	})
}

func TestAudioFolder(t *testing.T) {
	ds := must[Indexed](t)(AudioFolder(words(t), Audio{Allocator: checked(t)}))
	if got := ds.Schema().String(); got != "audio float32[4 1] feature, label int64 label" || ds.Len() != 3 {
		t.Fatalf("%d rows of %s", ds.Len(), got)
	}
	if d := cmp.Diff([]float32{0, .5, 0, 0, .5, 0, -.5, 0, .25, 0, 0, .25}, column[float32](t, ds, "audio")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int64{0, 1, 1}, column[int64](t, ds, "label")); d != "" {
		t.Error(d)
	}
	checkDataset(t, Pipe(ds, Shuffle(9, 1), Repeat(2), Batch(2, false), Prefetch(1)))
}

// TestAudioShapes: sounds are padded, cut, mixed, repeated on channels, and resampled between their samples.
func TestAudioShapes(t *testing.T) {
	dir := imageFiles(t, map[string][]byte{"a/1.wav": wavFile(2, 8000, half, 0, 0, half, -half, -half), "b/2.wav": wavFile(1, 4000, 0, half)})
	for _, c := range []struct {
		o    Audio
		want []float32
	}{
		{Audio{Samples: 2, SampleRate: 8000, Channels: 1}, []float32{.25, .25, 0, .25}},
		{Audio{Samples: 5, SampleRate: 8000, Channels: 1}, []float32{.25, .25, -.5, 0, 0, 0, .25, .5, .5, 0}},
		{Audio{Samples: 2, SampleRate: 4000, Channels: 2}, []float32{.5, 0, 0, 0, 0, 0, .5, .5}},
	} {
		c.o.Allocator = checked(t)
		ds := must[Indexed](t)(AudioFolder(dir, c.o))
		if d := cmp.Diff(c.want, column[float32](t, ds, "audio")); d != "" {
			t.Errorf("%+v: %s", c.o, d)
		}
	}
}

func TestBadAudio(t *testing.T) {
	good := wavFile(1, 8000, half, 0)
	floats := wavFile(1, 8000, 0, 0, 0, 0x7fc0) // 0 and NaN
	floats[20], floats[32], floats[34] = 3, 4, 32
	for want, files := range map[string]map[string][]byte{
		"b.wav: sound cannot be decoded: it is cut short":            {"x/a.wav": good, "x/b.wav": good[:len(good)-1]},
		"b.wav: sound cannot be decoded: it is not a WAV file":       {"x/a.wav": good, "x/b.wav": []byte("text")},
		"b.wav: sound cannot be decoded: sample 1 is NaN; replace":   {"x/a.wav": good, "x/b.wav": floats},
		"b.wav: sound has 3 samples, the first one 2: set samples":   {"x/a.wav": good, "x/b.wav": wavFile(1, 8000, 0, 0, 0)},
		"b.wav: sound has 4000 samples a second, the first one 8000": {"x/a.wav": good, "x/b.wav": wavFile(1, 4000, 0, 0)},
		"b.wav: sound has 2 channels, expected 3: set channels: 1":   {"x/a.wav": wavFile(3, 8000, 0, 0, 0), "x/b.wav": wavFile(2, 8000, 0, 0)},
		"a.wav: it has no samples":                                   {"x/a.wav": wavFile(1, 8000)},
		"ends in .wav, .wave":                                        {"x/a.mp3": good},
		"has no folders":                                             {"a.wav": good},
		"all 1 files of":                                             nil,
	} {
		spec := Spec{Format: "audio"}
		if files == nil {
			files, spec.OnError = map[string][]byte{"x/a.wav": good[:30]}, "skip"
		}
		spec.Files = []string{imageFiles(t, files)}
		if err := readAll(spec, Context{Mode: Train, Allocator: checked(t)}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	damaged := silent()
	dir := imageFiles(t, map[string][]byte{"x/a.wav": []byte("text"), "x/b.wav": good, "y/c.wav": good[:46], "y/d.wav": floats})
	ds := must[Indexed](t)(AudioFolder(dir, Audio{Damaged: damaged, Allocator: checked(t)}))
	if got := column[int64](t, ds, "label"); !slices.Equal(got, []int64{0}) || damaged.Count() != 3 {
		t.Errorf("got %v, left out %d: %v", got, damaged.Count(), damaged.First())
	}
	one := Audio{Damaged: silent()}
	one.Damaged.Max = 1
	if _, err := AudioFolder(dir, one); !errors.Is(err, ErrTooManyDamaged) {
		t.Errorf("2 damaged files, 1 allowed: %v", err)
	}
	if _, err := AudioFolder(words(t), Audio{Samples: maxSamples, Channels: 2}); err == nil || !strings.Contains(err.Error(), "a row has 67108864 samples of 2 channels") {
		t.Errorf("rows without bound: %v", err)
	}
}

func TestAudioSpec(t *testing.T) {
	spec := Spec{Format: "audio", Files: []string{words(t)}, Samples: 3, BatchSize: 2}
	for mode, want := range map[Mode]string{Train: "audio float32[3 1] feature, label int64 label", Predict: "audio float32[3 1] feature"} {
		ds, err := Open(t.Context(), spec, Context{Mode: mode, Pipeline: 1, NumPipelines: 2})
		if err != nil {
			t.Fatal(err)
		}
		if got := ds.Schema().String(); got != want {
			t.Errorf("%s: %s", mode, got)
		}
	}
	names, err := spec.ClassNames()
	if d := cmp.Diff([]string{"no", "yes"}, names); d != "" || err != nil {
		t.Error(d, err)
	}
	bad := Spec{Format: "audio", Files: []string{"a", "b"}, Samples: -1, SampleRate: -1, Channels: 999, OnError: "ignore", Classes: []string{"a/b"}, Delimiter: ",", Shard: "auto", BatchSize: 1}
	err = bad.Validate()
	for _, want := range []string{"files", "samples", "sample_rate", "channels", "on_error", "classes[0]"} {
		if err == nil || !strings.Contains(err.Error(), want+":") {
			t.Errorf("%s is not in %v", want, err)
		}
	}
}
