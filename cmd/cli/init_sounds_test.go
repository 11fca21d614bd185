package cli

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// soundFolder writes tones of two classes, low and high, into folders, with different lengths and volumes.
func soundFolder(t *testing.T, dir string, perClass, rate int) {
	t.Helper()
	for class, hertz := range map[string]float64{"low": 300, "high": 900} {
		if err := os.MkdirAll(filepath.Join(dir, class), 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range perClass {
			le, n := binary.LittleEndian, rate/10+10*i
			b := le.AppendUint32([]byte("RIFF\x00\x00\x00\x00WAVEfmt "), 16)
			b = le.AppendUint32(le.AppendUint16(le.AppendUint16(b, 1), 1), uint32(rate))
			b = le.AppendUint16(le.AppendUint16(le.AppendUint32(b, uint32(rate*2)), 2), 16)
			b = le.AppendUint32(append(b, "data"...), uint32(2*n))
			for s := range n {
				tone := math.Sin(2 * math.Pi * (hertz + 5*float64(i)) * float64(s) / float64(rate))
				b = le.AppendUint16(b, uint16(int16(3000*float64(i%10+1)*tone)))
			}
			if err := os.WriteFile(filepath.Join(dir, class, fmt.Sprintf("%02d.wav", i)), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestInitSounds: folders of sounds give a config that trains at once and separates the classes, also with a test folder and a damaged file.
func TestInitSounds(t *testing.T) {
	for name, c := range map[string]struct {
		rate  int
		test  bool
		wants []string
	}{
		"held out":            {8000, false, []string{"sample_rate: 8000 ", "window: 256", "samples: 1060 ", "part: eval"}},
		"a high rate, a test": {44100, true, []string{"sample_rate: 16000 ", "window: 512", "/test"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			train := dir
			if c.test {
				train = filepath.Join(dir, "train")
				soundFolder(t, filepath.Join(dir, "test"), 5, c.rate)
			}
			soundFolder(t, train, 30, c.rate)
			if err := os.WriteFile(filepath.Join(train, "low", "29.wav"), []byte("text"), 0o600); err != nil {
				t.Fatal(err)
			}
			out, config := initOf(t, dir)
			for _, want := range c.wants {
				if !strings.Contains(config, want) {
					t.Errorf("expected %q in\n%s", want, config)
				}
			}
			if !strings.Contains(out, "some are longer, and are cut") {
				t.Errorf("got %s", out)
			}
			path := trainsWell(t, config)
			var stdout, stderr bytes.Buffer
			if code := Run(t.Context(), []string{"predict", "--config", path, "--input", filepath.Join(train, "high", "03.wav")}, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), `{"file":"03.wav",`) || !strings.Contains(stdout.String(), `"classes":["high"]`) {
				t.Errorf("predict: exit code %d: %s%s", code, stdout.String(), stderr.String())
			}
		})
	}
}

// TestInitSoundsBeside: hidden files, licences and tests without classes beside the sounds do not count; class names may have any letters.
func TestInitSoundsBeside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Töne \"1\"")
	train := filepath.Join(dir, "train")
	soundFolder(t, train, 15, 192000)
	if err := os.Rename(filepath.Join(train, "low"), filepath.Join(train, "tief: ü")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"train/high/._00.wav", "train/high/LICENSE.txt", "test/00.wav", "test/some/00.wav"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("text"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	out, config := initOf(t, dir)
	if !strings.Contains(out, "27 sounds to train on") || !strings.Contains(out, "2 classes: high, tief: ü") || !strings.Contains(config, "part: eval") {
		t.Errorf("got %s%s", out, config)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"train", "--config", path, "--set", "train.max_steps=2"}, &stdout, &stderr); code != 0 {
		t.Errorf("train: exit code %d: %s", code, stderr.String())
	}
}

// TestMeasureSounds: the length covers nine of ten sounds and at least two windows; longer sounds are cut, sounds of just that length are not.
func TestMeasureSounds(t *testing.T) {
	for _, c := range []struct {
		rate, perClass, samples int
		cut                     bool
	}{{10, 1, 64, false}, {10, 10, 81, true}, {1000, 1, 100, false}, {1000, 2, 110, false}, {22050, 1, 1600, false}} {
		dir := t.TempDir()
		soundFolder(t, dir, c.perClass, c.rate)
		table := &soundTable{classFolders: &classFolders{train: dir, classes: []string{"high", "low"}}}
		files, err := table.files(isSound)
		if err == nil {
			err = table.measure(files, sampledBytes)
		}
		if err != nil || table.samples != c.samples || table.cut != c.cut {
			t.Errorf("%d of rate %d: %d samples, cut: %v, %v, expected %d, %v", c.perClass, c.rate, table.samples, table.cut, err, c.samples, c.cut)
		}
	}
}

// TestInitSoundsRefused: folders that are no data set of sounds are refused, and the error says what is missing.
func TestInitSoundsRefused(t *testing.T) {
	one, few, damaged := t.TempDir(), t.TempDir(), t.TempDir()
	soundFolder(t, one, 12, 8000)
	if err := os.RemoveAll(filepath.Join(one, "low")); err != nil {
		t.Fatal(err)
	}
	soundFolder(t, few, 9, 8000)
	for i := range 20 {
		path := filepath.Join(damaged, fmt.Sprint(i%2), fmt.Sprint(i, ".wav"))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{one: "has sounds in one folder, high", few: "has 18 sounds (.wav)", damaged: "no sound of"} {
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), []string{"init", dir, "--out", filepath.Join(t.TempDir(), "c.yaml")}, &stdout, &stderr); code == 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("exit code %d, got %s, expected %q", code, stderr.String(), want)
		}
	}
}

// TestSampledSounds: sounds of all classes are read, up to a number of bytes; at least one, even if it is larger.
func TestSampledSounds(t *testing.T) {
	dir := t.TempDir()
	soundFolder(t, dir, 30, 8000)
	f, err := findClassFolders(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.files(isSound)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bytes int64
		want  int
	}{{0, 0}, {1, 1}, {1 << 30, 60}} {
		if rates, seconds := sampled(files, c.bytes); len(rates) != c.want || len(seconds) != c.want {
			t.Errorf("%d bytes: %d rates and %d lengths, expected %d", c.bytes, len(rates), len(seconds), c.want)
		}
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	_, some := sampled(files, 5*info.Size()) // the first is the shortest
	if len(some) < 3 || len(some) > 5 {
		t.Errorf("lengths %v of five times the bytes of the shortest", some)
	}
}
