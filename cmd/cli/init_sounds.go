package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/format/wav"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/printable"
)

// soundTable is what is known of a folder of sounds.
type soundTable struct {
	*classFolders
	count   int // number of sounds in train
	rate    int // samples a second
	samples int // length of a sound
	cut     bool
}

const (
	sampledSounds = 200       // sounds to read
	sampledBytes  = 512 << 20 // total bytes to read
	soundStride   = 211       // between files read, to cover all classes even if only a few large ones are read; shares no divisor with a number up to sampledSounds
	longestSound  = 10        // seconds; longer ones are cut
	mostRate      = 16000     // samples a second for a model: higher frequencies help little and cost time
	largestSample = 256 << 20 // bytes: longer files are not read
)

// isSound reports whether a file is a sound by its name.
func isSound(name string) bool {
	return slices.Contains([]string{".wav", ".wave"}, strings.ToLower(filepath.Ext(name)))
}

// soundsOf looks for sounds in the subfolders of a folder. It returns nil if there are none, or fewer than images.
func soundsOf(dir string) (*soundTable, error) {
	f, err := findClassFolders(dir)
	if err != nil {
		return nil, nil // imagesOf reports it
	}
	files, err := f.files(isSound)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	if images, err := f.files(isImage); err != nil || len(images) >= len(files) {
		return nil, err
	}
	switch {
	case len(f.classes) < 2:
		return nil, fmt.Errorf("%s has sounds in one folder, %s: expected one for each class, and at least two classes", f.train, f.classes[0])
	case len(files) < fewestFiles:
		return nil, fmt.Errorf("%s has %d sounds (.wav) in the folders of its classes: expected at least %d", f.train, len(files), fewestFiles)
	}
	t := &soundTable{classFolders: f, count: len(files)}
	return t, t.measure(files, sampledBytes)
}

// sampled reads some sounds, up to so many bytes in all, and returns their rates and lengths.
func sampled(files []string, bytes int64) (rates []int, seconds []float64) {
	n := min(sampledSounds, len(files))
	for i := 0; i < n && bytes > 0; i++ {
		s, size, err := soundOf(files[(i*soundStride%n)*len(files)/n])
		bytes -= size
		if err != nil || s.Frames() == 0 {
			continue // training reports it
		}
		rates, seconds = append(rates, s.Rate), append(seconds, float64(s.Frames())/float64(s.Rate))
	}
	return rates, seconds
}

// measure reads some sounds: it sets the median rate, and a length that nine of ten do not exceed.
func (t *soundTable) measure(files []string, bytes int64) error {
	rates, seconds := sampled(files, bytes)
	if len(rates) == 0 {
		return fmt.Errorf("no sound of %s can be read: expected WAV files of PCM or floats", t.train)
	}
	slices.Sort(rates)
	slices.Sort(seconds)
	t.rate = min(rates[len(rates)/2], mostRate)
	length := min(seconds[(len(seconds)-1)*9/10], longestSound)
	t.samples = max(t.samplesOf(length), 2*t.window())
	t.cut = t.samplesOf(seconds[len(seconds)-1]) > t.samples
	return nil
}

// samplesOf is the number of samples in so many seconds.
func (t *soundTable) samplesOf(seconds float64) int {
	return int(math.Round(seconds * float64(t.rate)))
}

// soundOf decodes the file of a sound. It reads size bytes.
func soundOf(path string) (_ *wav.Sound, size int64, err error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, largestSample))
	if err != nil {
		return nil, int64(len(data)), err
	}
	s, err := wav.Decode(data)
	return s, int64(len(data)), err
}

// window is the number of samples in a frame of the spectrogram: a power of two near 30 ms, and at least 32.
func (t *soundTable) window() int {
	w := 32
	for w*3/2 < t.rate*30/1000 {
		w *= 2
	}
	return w
}

// sounds is the number of sounds to train on.
func (t *soundTable) sounds() int { return t.trained(t.count) }

// epochs and steps say how long the network trains.
func (t *soundTable) epochs() int { return max(min(60_000/t.sounds(), 60), 10) }

func (t *soundTable) steps() int { return max(t.epochs()*t.sounds()/soundBatch, 200) }

const soundBatch = 32

// config is the config of a convolutional network over spectrograms.
func (t *soundTable) config(modelDir string) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# A model of the sounds below %s, written by goestimator init:", oneLineText(t.train))
	say("# %d classes, %d sounds to train on.", len(t.classes), t.sounds())
	say("#\n#   goestimator train --config FILE, then evaluate, predict, export\n")
	say("model_dir: %s\nseed: 1\n", quotedYAML(modelDir))
	say("# Convolutions over the spectrogram: the power of 40 bands of pitch in frames of %d samples, %.0f ms. Loud and soft sounds are alike.", t.window(), 1000*float64(t.window())/float64(t.rate))
	say("model:\n  name: sound_cnn\n  params: {classes: %d, sample_rate: %d, window: %d, filters: [16, 32, 64], dense_units: [64], dropout: 0.3}\n", len(t.classes), t.rate, t.window())
	say("optimizer:\n  name: adam\n  learning_rate: {schedule: cosine, initial: 0.002, decay_steps: %d}\n", t.steps())
	say("train:\n  input:")
	t.saySource(say, t.train, "train")
	say("    shuffle: %d\n    batch_size: %d\n    repeat: true", min(t.sounds(), 10_000), soundBatch)
	say("  max_steps: %d   # the learning rate is then 0", t.steps())
	say("  early_stopping: {metric: loss, max_steps_without_improvement: %d, check_every_steps: %d, restore_best: true}\n", t.steps()/2, t.steps()/10)
	say("eval:\n  input:")
	if t.test == "" {
		t.saySource(say, t.train, "eval")
	} else {
		t.saySource(say, t.test, "")
	}
	say("    batch_size: 64\n  every_steps: %d", t.steps()/10)
	say("  exporters: [{name: final, kind: final}]   # a SavedModel below model_dir/export/final, for goestimator serve")
	say("\npredict: {columns: [file]}   # the name of each sound before what is predicted of it")
	say("\nrun: {save_checkpoints_steps: %d, log_step_count_steps: %d}", t.steps()/10, t.steps()/50)
	return b.String()
}

// saySource writes how sounds are read; part is the part of the split.
func (t *soundTable) saySource(say func(string, ...any), dir, part string) {
	say("    format: audio\n    files: [%s]", quotedYAML(dir))
	say("    sample_rate: %d   # to which sounds of other rates are changed", t.rate)
	say("    samples: %d   # %.2g s: shorter sounds end in zeros, longer ones are cut", t.samples, float64(t.samples)/float64(t.rate))
	say("    channels: 1   # the mean of a file's")
	say("    on_error: skip   # damaged sounds are left out, with a warning")
	if t.test == "" {
		say("    split: {folds: %d, held_out: 0, part: %s}", heldFiles, part)
	}
}

// initSounds writes the config of a folder of sounds.
func (a *app) initSounds(t *soundTable, dir string, f initFlags) error {
	if f.modelDir == "" {
		f.modelDir = "runs/" + folderName(dir)
	}
	fmt.Fprintf(a.stdout, "%s: %d sounds to train on, of %.2g s at %d samples a second\n%d classes: %s\n", printable.Text(t.train), t.sounds(), float64(t.samples)/float64(t.rate), t.rate,
		len(t.classes), printable.Text(strings.Join(t.classes[:min(len(t.classes), 10)], ", ")))
	if t.cut {
		fmt.Fprintf(a.stdout, "some are longer, and are cut: samples in the config says where\n")
	}
	if err := atomicfile.Rewrite(filepath.Clean(f.out), []byte(t.config(f.modelDir))); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, err := fmt.Fprintf(a.stdout, "wrote %s: a convolutional network over spectrograms; now run\n  %s train --config %s\n", f.out, a.name, f.out)
	return err
}
