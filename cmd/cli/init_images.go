package cli

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // for image.DecodeConfig
	_ "image/jpeg"
	_ "image/png"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/webp"
)

// imageTable is what is known of a folder of images.
type imageTable struct {
	*classFolders
	count         int // number of images in train
	height, width int // size that images are resized to; 0: all have one size
	side          int // longer side of the images the model sees
	grey          bool
}

const (
	sampledImages = 200 // number of headers read
	longestSide   = 96  // longest side after resizing
	plainSide     = 40  // images up to this side are small
)

// imagesOf looks at a folder with one subfolder for each class, or with such folders for training and for tests.
func imagesOf(dir string) (*imageTable, error) {
	f, err := findClassFolders(dir)
	if err != nil {
		return nil, err
	}
	files, err := f.files(isImage)
	if err != nil {
		return nil, err
	}
	switch {
	case len(f.classes) < 2:
		return nil, fmt.Errorf("%s has one folder, %s: expected one for each class, and at least two classes", f.train, f.classes[0])
	case len(files) < fewestFiles:
		return nil, fmt.Errorf("%s has %d images (%s) in the folders of its classes: expected at least %d, or sounds (.wav) or texts (.txt)", f.train, len(files), strings.Join(inputs.ImageExtensions(), ", "), fewestFiles)
	}
	t := &imageTable{classFolders: f, count: len(files)}
	return t, t.measure(files)
}

// isImage reports whether a file is an image by its name.
func isImage(name string) bool {
	return slices.Contains(inputs.ImageExtensions(), strings.ToLower(filepath.Ext(name)))
}

// measure reads the headers of some images.
func (t *imageTable) measure(files []string) error {
	var heights, widths []int
	t.grey = true
	for i := range min(sampledImages, len(files)) {
		c, err := headerOf(files[i*len(files)/min(sampledImages, len(files))])
		if err != nil {
			continue // training reports it
		}
		heights, widths = append(heights, c.Height), append(widths, c.Width)
		t.grey = t.grey && (c.ColorModel == color.GrayModel || c.ColorModel == color.Gray16Model)
	}
	if len(heights) == 0 {
		return fmt.Errorf("no image of %s can be read: expected PNG, JPEG, WebP, GIF or BMP", t.train)
	}
	slices.Sort(heights)
	slices.Sort(widths)
	h, w := heights[len(heights)/2], widths[len(widths)/2]
	same := heights[0] == heights[len(heights)-1] && widths[0] == widths[len(widths)-1]
	t.side = max(h, w)
	if !same || t.side > longestSide {
		scale := min(1, float64(longestSide)/float64(t.side))
		t.height, t.width = max(int(float64(h)*scale+0.5), 1), max(int(float64(w)*scale+0.5), 1)
		t.side = max(t.height, t.width)
	}
	return nil
}

func headerOf(path string) (c image.Config, err error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c, _, err = image.DecodeConfig(f)
	return c, err
}

// images is the number of images to train on.
func (t *imageTable) images() int {
	return t.trained(t.count)
}

// batch, epochs and steps say how long the network trains.
func (t *imageTable) batch() int {
	if t.images() < 2000 {
		return 32
	}
	return 128
}

func (t *imageTable) epochs() int { return max(min(600_000/t.images(), 60), 10) }

func (t *imageTable) steps() int { return max(t.epochs()*t.images()/t.batch(), 100) }

// manyImages are too many for a small network to memorize in a few passes: regularization would only slow it down.
const manyImages = 20_000

// dropout is the network's dropout rate; images shift by up to shift pixels.
func (t *imageTable) dropout() float64 {
	if t.images() >= manyImages {
		return 0
	}
	return 0.3
}

func (t *imageTable) shift() int {
	if t.images() >= manyImages {
		return max(t.side/28, 1)
	}
	return max(t.side/14, 1)
}

// filters are the filters of a network that halves the images a few times.
func (t *imageTable) filters() []int {
	switch {
	case t.side <= plainSide:
		return []int{32, 64}
	case t.side <= 72:
		return []int{32, 64, 128}
	}
	return []int{32, 64, 128, 128}
}

// config is the config of a convolutional network.
func (t *imageTable) config(modelDir string) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# A model of the images below %s, written by goestimator init:", oneLineText(t.train))
	say("# %d classes, %d images to train on.", len(t.classes), t.images())
	say("#\n#   goestimator train --config FILE, then evaluate, predict, export\n")
	say("model_dir: %s\nseed: 1\n", quotedYAML(modelDir))
	say("# Convolutions that halve the images %d times. Other networks: mobilenet_v2, resnet20, resnet50.", len(t.filters()))
	say("model:\n  name: cnn\n  params: {classes: %d, filters: %s, dense_units: [128], dropout: %g}\n", len(t.classes), unitsText(t.filters()), t.dropout())
	say("optimizer:\n  name: adam\n  learning_rate: {schedule: cosine, initial: 0.001, decay_steps: %d}\n", t.steps())
	say("train:\n  input:")
	t.saySource(say, t.train, "train")
	say("    shuffle: %d\n    batch_size: %d\n    repeat: true", min(t.images(), 100_000), t.batch())
	if t.grey {
		say("    # Grey images may be letters or digits, which are others in a mirror: set flip where they are not.")
	}
	say("    augment: {crop_padding: %d, flip: %v}", t.shift(), !t.grey)
	say("  max_steps: %d   # %d passes; the learning rate is then 0", t.steps(), t.epochs())
	say("  early_stopping: {metric: loss, max_steps_without_improvement: %d, check_every_steps: %d, restore_best: true}\n", max(t.steps()/2, 1), max(t.steps()/10, 1))
	say("eval:\n  input:")
	if t.test == "" {
		t.saySource(say, t.train, "eval")
	} else {
		t.saySource(say, t.test, "")
	}
	say("    batch_size: 256\n  every_steps: %d", max(t.steps()/10, 1))
	say("  exporters: [{name: final, kind: final}]   # a SavedModel below model_dir/export/final, for goestimator serve")
	say("\npredict: {columns: [file]}   # the name of each image before what is predicted of it")
	say("\nrun: {save_checkpoints_steps: %d, log_step_count_steps: %d}", max(t.steps()/10, 1), max(t.steps()/50, 1))
	return b.String()
}

// saySource writes how images are read; part is the part of the split.
func (t *imageTable) saySource(say func(string, ...any), dir, part string) {
	say("    format: images\n    files: [%s]", quotedYAML(dir))
	if t.height > 0 {
		say("    image_size: [%d, %d]", t.height, t.width)
	}
	if t.grey {
		say("    channels: 1")
	}
	say("    on_error: skip   # damaged images are left out, with a warning")
	if t.test == "" {
		say("    split: {folds: %d, held_out: 0, part: %s}", heldFiles, part)
	}
	say("    scale: 255")
}
