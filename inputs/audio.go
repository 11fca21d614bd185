package inputs

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/internal/format/wav"
	"github.com/goestimator/goestimator/runconfig/violation"
	"github.com/goestimator/goestimator/tensor"
)

// Audio describes a folder of WAV files.
type Audio struct {
	// Classes are the names of the folders, in the order of their labels; empty: all folders, sorted.
	Classes []string
	// SampleRate is the number of samples per second. Sounds of another rate are resampled by linear interpolation.
	// 0: the rate of the first sound, which all must have.
	SampleRate int
	// Samples per channel: shorter sounds are padded with zeros, longer ones cut. 0: the number of the first sound, which all must have.
	Samples int
	// Channels of a sound. 1: the mean of a file's channels; 0: as many as the first sound has. A file's only channel is repeated.
	Channels int
	// Unlabeled leaves out the labels. The files may then lie in the folder itself, and dir may be a single file.
	Unlabeled bool
	// Missing allows classes without a folder, for evaluation and prediction.
	Missing bool
	// Names adds the column "file", with the name of each file below the folder.
	Names bool
	// Damaged leaves out damaged files; all files are decoded once to find them. Nil: the first damaged file read is an error.
	Damaged   *Damaged
	Allocator memory.Allocator
}

// maxSamples bounds the samples of a sound, in all channels.
const maxSamples = 1 << 26

// AudioFolder returns the sounds of a folder with a subfolder per class, local or in a bucket: "audio" float32[samples, channels], from
// -1 to 1, and "label" int64. The files are WAV files of PCM or floats, ordered by class and name. The result has random access; it
// decodes files when they are read, several at a time.
func AudioFolder(dir string, o Audio) (Indexed, error) {
	return openAudio(context.Background(), dir, o)
}

func openAudio(ctx context.Context, dir string, o Audio) (Indexed, error) {
	if o.SampleRate < 0 || o.Samples < 0 || o.Channels < 0 || o.Samples > maxSamples || o.SampleRate > 1<<20 || o.Channels > 256 {
		return nil, fmt.Errorf("sounds have up to %d samples at up to %d a second, and up to 256 channels, got %d, %d and %d", maxSamples, 1<<20, o.Samples, o.SampleRate, o.Channels)
	}
	f, err := listFiles(ctx, dir, Images{Classes: o.Classes, Unlabeled: o.Unlabeled, Missing: o.Missing, Names: o.Names, Damaged: o.Damaged, Allocator: o.Allocator}, []string{".wav", ".wave"})
	if err != nil {
		return nil, err
	}
	a := &audioFolder{Audio: o, folder: f}
	ctx = f.seen.in(ctx)
	if err := a.asFirst(ctx); err != nil {
		return nil, err
	}
	f.decode = func(ctx context.Context, i int) ([]byte, error) { return a.samples(ctx, f.files[i]) }
	if o.Damaged != nil {
		if err := f.skipDamaged(ctx); err != nil {
			return nil, err
		}
	}
	return f.dataset("audio", Column{Name: "audio", DType: tensor.Float32, Shape: []int{a.Samples, a.Channels}})
}

// audioFolder is a list of sounds.
type audioFolder struct {
	Audio
	folder    *imageFolder
	fixed     bool // the length is the first sound's
	fixedRate bool
}

// asFirst sets what the options leave open as in the first sound; with Damaged, as in the first one that can be decoded.
func (a *audioFolder) asFirst(ctx context.Context) error {
	var damaged error
	for _, name := range a.folder.files {
		s, err := readSound(ctx, name)
		if err == nil && s.Frames() == 0 && a.Samples == 0 {
			err = fileError(name, "it has no samples: remove it, or set samples")
		}
		if err == nil {
			if a.Channels == 0 {
				a.Channels = s.Channels
			}
			if a.SampleRate == 0 {
				a.SampleRate, a.fixedRate = s.Rate, true
			}
			if a.Samples == 0 {
				a.Samples, a.fixed = a.length(s), true
			}
			if a.Samples > maxSamples/a.Channels {
				return fileError(name, "a row has %d samples of %d channels, expected at most %d in all: set samples or channels", a.Samples, a.Channels, maxSamples)
			}
			return nil
		}
		if a.Damaged == nil {
			return err
		}
		if damaged == nil {
			damaged = err
		}
	}
	return a.folder.allDamaged(damaged)
}

// length is the number of samples per channel at the common rate, at least one.
func (a *audioFolder) length(s *wav.Sound) int {
	return max(int(int64(s.Frames())*int64(a.SampleRate)/int64(s.Rate)), min(s.Frames(), 1))
}

// samples decodes a file to the common length, rate and number of channels.
func (a *audioFolder) samples(ctx context.Context, name string) ([]byte, error) {
	s, err := readSound(ctx, name)
	if err != nil {
		return nil, err
	}
	switch n := a.length(s); {
	case a.fixedRate && s.Rate != a.SampleRate:
		return nil, fileError(name, "sound has %d samples a second, the first one %d: set sample_rate, to which all are changed", s.Rate, a.SampleRate)
	case a.fixed && n != a.Samples:
		return nil, fileError(name, "sound has %d samples, the first one %d: set samples, to which all are padded or cut", n, a.Samples)
	case s.Channels != a.Channels && s.Channels != 1 && a.Channels != 1:
		return nil, fileError(name, "sound has %d channels, expected %d: set channels: 1 for their mean", s.Channels, a.Channels)
	}
	out := make([]float32, a.Samples*a.Channels)
	for i := range min(a.Samples, a.length(s)) {
		at := float64(i) * float64(s.Rate) / float64(a.SampleRate)
		for c := range a.Channels {
			v := a.at(s, at, c)
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) { // possible in files of floats
				return nil, undecodable(name, fmt.Errorf("sample %d is %v", int(at), v))
			}
			out[i*a.Channels+c] = v
		}
	}
	return arrow.Float32Traits.CastToBytes(out), nil
}

// at is the value of a channel at a time, measured in samples of the file.
func (a *audioFolder) at(s *wav.Sound, at float64, channel int) float32 {
	i := min(int(at), s.Frames()-1)
	v := a.mixed(s, i, channel)
	if part := float32(at - math.Floor(at)); part > 0 && i+1 < s.Frames() {
		v += (a.mixed(s, i+1, channel) - v) * part
	}
	return v
}

// mixed is a sample of a channel: the mean of all channels if one is wanted, or the file's only channel.
func (a *audioFolder) mixed(s *wav.Sound, frame, channel int) float32 {
	if a.Channels > 1 || s.Channels == 1 {
		return s.At(frame, min(channel, s.Channels-1))
	}
	sum := float32(0)
	for c := range s.Channels {
		sum += s.At(frame, c)
	}
	return sum / float32(s.Channels)
}

// maxSoundFile bounds the size of a file in bytes.
const maxSoundFile = 1 << 30

func readSound(ctx context.Context, name string) (*wav.Sound, error) {
	data, err := readUpTo(ctx, name, maxSoundFile)
	if err != nil {
		return nil, fileError(name, "sound cannot be read: %w", err)
	}
	s, err := wav.Decode(data)
	if err != nil {
		return nil, undecodable(name, err)
	}
	return s, nil
}

func undecodable(name string, err error) error {
	return fileError(name, "sound cannot be decoded: %w", orSkip(err, "replace it, remove it, or set on_error to skip"))
}

// audio opens the folder of sounds of a spec.
func (s Spec) audio(ctx context.Context, ic Context) (Dataset, error) {
	ds, err := openAudio(ctx, s.Files[0], Audio{Classes: s.Classes, SampleRate: s.SampleRate, Samples: s.Samples, Channels: s.Channels, Unlabeled: ic.unlabeled(), Missing: ic.Mode != Train,
		Names: len(s.Columns) > 0, Damaged: s.damaged(ic), Allocator: ic.Allocator})
	if err != nil {
		return nil, err
	}
	return ds, nil
}

func (s Spec) validateAudio(vs *violation.List) {
	vs.Require(len(s.Files) == 1, "files", s.Files, "expected one folder, which has a folder of WAV files for each class")
	vs.Require(s.filesAlone(), "columns", len(s.Columns), "expected none but file, without other keys: sounds have the columns audio and label, and with it the name of the file")
	vs.Require(s.Samples >= 0 && s.Samples <= maxSamples, "samples", s.Samples, "expected 1 to 67108864, or 0 for as many as the first sound has")
	vs.Require(s.SampleRate >= 0 && s.SampleRate <= 1<<20, "sample_rate", s.SampleRate, "expected 1 to 1048576, or 0 for the rate of the first sound")
	vs.Require(s.Channels >= 0 && s.Channels <= 256, "channels", s.Channels, "expected 1 to 256, or 0 for as many as the first sound has")
	for i, c := range s.Classes {
		vs.Require(c != "" && c == filepath.Base(c) && !slices.Contains(s.Classes[:i], c), "classes["+strconv.Itoa(i)+"]", c, "expected the name of a folder, each once")
	}
}
