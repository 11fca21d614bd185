package inputs

import (
	"fmt"
	"strings"
)

// Spec is one input pipeline: a source, or several inputs as one, and the steps for its rows, in this order: split,
// shard, skip, take, transforms, shuffle, repeat, batch, scale, augment, prefetch. Rows that transforms have changed are shared after these.
type Spec struct {
	// glyphs (built-in procedural digits), idx, cifar10, csv, parquet, arrow, jsonl (a JSON object on each line), tfrecord (of tf.train.Example), images (a folder of each class), audio (the same of WAV files), npy (a NumPy array for each column), npz (an archive of such arrays), sql (the rows of a query), flight (the rows of an Arrow Flight service), or a registered input_fn. Left out where zip, concat, interleave or mix is given. Empty: no input.
	Format string `yaml:"format,omitempty"`
	// Inputs whose columns are put side by side, row by row, to the end of the shortest. Each entry has the keys of an input up to repeat.
	Zip []Spec `yaml:"zip,omitempty"`
	// Inputs whose rows follow one another. All have the same columns, as for interleave and mix.
	Concat []Spec `yaml:"concat,omitempty"`
	// Inputs whose rows take turns.
	Interleave []Spec `yaml:"interleave,omitempty"`
	// For each row, one of these inputs is drawn at random.
	Mix []Spec `yaml:"mix,omitempty"`
	// mix: how often each input is drawn, in any unit. Default: equally often.
	Weights []float64 `yaml:"weights,omitempty"`
	// interleave: inputs that are open at a time; where one ends, the next takes its place. 0: all.
	Cycle int `yaml:"cycle,omitempty"`
	// interleave: rows of one turn. 0: 1.
	Block int `yaml:"block,omitempty"`
	// File names, globs, with ** for any number of folders, or folders, which stand for all files below them (cifar10, csv, parquet, arrow, jsonl, tfrecord, npy, npz); or the folder of images or audio; or - for standard input (csv, jsonl, arrow), which comes once. One name needs no list. Files, images and labels may be URLs of objects, such as s3://bucket/train-*.csv, also gs:// and azblob:// where the binary holds them. Those packed with gzip, zstd or bzip2 are unpacked on the fly.
	Files []string `yaml:"files,omitempty"`
	// idx: file of the images. The feature of all image formats is named image, the label label.
	Images string `yaml:"images,omitempty"`
	// idx: file of the labels. Not needed to predict.
	Labels string `yaml:"labels,omitempty"`
	// images, audio: the names of the classes' folders, in the order of their labels; predictions have them, too. Default: all folders, sorted; eval.input and predict.input take the classes of train.input.
	Classes []string `yaml:"classes,omitempty"`
	// Folder of this machine, relative to the working directory, where parts of objects are kept for later passes and runs. Empty: none.
	Cache string `yaml:"cache,omitempty"`
	// MiB of that folder. What was not used for the longest time is dropped first. 0: 10240.
	CacheMB int `yaml:"cache_mb,omitempty"`
	// images: height and width to which all are resized. Default: the size of the first, which all must have.
	ImageSize []int `yaml:"image_size,omitempty"`
	// images: 1 (grey) or 3; 0: 3. audio: channels of a sound; 0: as many as the first has.
	Channels int `yaml:"channels,omitempty"`
	// audio: samples of each channel; shorter sounds end in zeros, longer ones are cut. 0: as many as the first has, which all must have.
	Samples int `yaml:"samples,omitempty"`
	// audio: samples a second, to which sounds of another rate are changed by linear interpolation. 0: the rate of the first, which all must have.
	SampleRate int `yaml:"sample_rate,omitempty"`
	// What is done about a row that cannot be read: fail, or skip, which leaves it out and counts it (csv, jsonl, parquet, arrow, tfrecord, sql, flight, npy, npz; images and audio, which are all decoded once before). A file that is cut short is an error always. Default fail.
	OnError string `yaml:"on_error,omitempty"`
	// on_error skip: how many rows may be left out; one more is an error. 0: any number.
	MaxErrors int64 `yaml:"max_errors,omitempty"`
	// How a job goes on from a checkpoint where rows come only once, as from standard input, or may differ each time, as from sql and flight: error fails; skip leaves out as many rows as were read, since they come again; restart goes on with the rows that come. Default error.
	Resume string `yaml:"resume,omitempty"`
	// The columns, in the order of the file (csv) or of the files (npy), or a choice of those in it (parquet, arrow, jsonl, tfrecord, npz).
	Columns []ColumnSpec `yaml:"columns,omitempty"`
	// csv: the first row holds names, which must be the names of columns.
	Header bool `yaml:"header,omitempty"`
	// csv: the character between two cells, tab, or whitespace: any number of spaces and tabs, as in aligned columns.
	Delimiter string `yaml:"delimiter"`
	// csv: cells that mean a missing value, besides the empty cell.
	MissingValues []string `yaml:"missing_values,omitempty"`
	// csv: the mark before the fraction of numbers of the types float32 and float64, "." or ",". With a comma, points group digits: 1.234,5.
	Decimal string `yaml:"decimal,omitempty"`
	// csv: character that starts lines to pass over. Empty: none.
	Comment string `yaml:"comment,omitempty"`
	// The database and the query of format sql.
	SQL SQLSpec `yaml:"sql,omitempty"`
	// The service and what it is asked for, of format flight.
	Flight FlightSpec `yaml:"flight,omitempty"`
	// Parameters of a registered input_fn. Keys are lower-cased and split at dots.
	Params map[string]any `yaml:"params,omitempty"`
	// glyphs: number of examples. 0: endless.
	Count int64 `yaml:"count,omitempty"`

	// Keep a part of the rows only, so that one file serves both training and evaluation.
	Split SplitSpec `yaml:"split,omitempty"`
	// How workers share the rows: auto (files where there are enough, else rows), files, rows, off (each sees all).
	Shard string `yaml:"shard"`
	// Rows left out at the start.
	Skip int64 `yaml:"skip,omitempty"`
	// Rows kept. 0: all.
	Take int64 `yaml:"take,omitempty"`
	// Steps for the rows, in the order given, before shuffle.
	Transforms []TransformSpec `yaml:"transforms,omitempty"`
	// Rows of the shuffle buffer. 0: the order of the files.
	Shuffle int `yaml:"shuffle,omitempty"`
	// Start again at the end of the data, without end.
	Repeat bool `yaml:"repeat,omitempty"`
	// Passes over the data; wins over Repeat where it is positive.
	Epochs int `yaml:"-"`
	// Divisor of numeric features, for example 255 for bytes of an image. 0: none.
	Scale float64 `yaml:"scale,omitempty"`
	// Subtracted after scaling: one value, or one per entry of the features' last dimension (channel).
	Mean []float64 `yaml:"mean,omitempty"`
	// Divisor after the mean: as many values as mean.
	Std []float64 `yaml:"std,omitempty"`
	// Random changes to images.
	Augment AugmentSpec `yaml:"augment,omitempty"`
	// Examples of one batch of the whole job; each worker takes its share.
	BatchSize int `yaml:"batch_size"`
	// Batches of rows of similar length, in place of batch_size. Not where rows are predicted.
	Buckets BucketSpec `yaml:"buckets,omitempty"`
	// Batches of rows that have the same value of a column, in place of batch_size. Not where rows are predicted.
	Group GroupSpec `yaml:"group,omitempty"`
	// Leave out the last batch where it is not full.
	DropRemainder bool `yaml:"drop_remainder,omitempty"`
	// Batches prepared ahead. -1: at first 2, and more where training still waits, up to 16 and 64 MiB (or memory_mb); 0: none.
	Prefetch int `yaml:"prefetch"`
	// MiB of rows that a pass may hold ahead of training: batches prepared ahead, blocks of files, and the shuffle buffer of a stream. Steps wait when they are spent; a shuffle buffer that needs more is an error. So are shuffled files of up to 64 MiB together, whose rows are all kept, where they need more. 0: no bound.
	MemoryMB int `yaml:"memory_mb,omitempty"`
	// Goroutines that prepare batches; the order of the batches does not depend on it. 0: as many as there are cores.
	Parallelism int `yaml:"parallelism,omitempty"`
}

// GroupSpec makes batches of rows of one value, in place of batch_size.
type GroupSpec struct {
	// The column, of text or whole numbers.
	Column string `yaml:"column,omitempty"`
	// Examples of a batch, of the whole job; each worker takes its share. What a value has left at the end is a smaller batch.
	Size int `yaml:"size,omitempty"`
}

// SplitSpec keeps a part of the rows, which are the same in every run. Row i belongs to fold i mod folds, which is balanced even
// where rows are sorted by class, or to the fold that a column says, as Folding has it.
type SplitSpec struct {
	// Number of folds. 0: no split.
	Folds int `yaml:"folds,omitempty"`
	// The fold that is held out for evaluation, counted from 0.
	HeldOut int `yaml:"held_out,omitempty"`
	// train: all folds but the held-out one; eval: the held-out fold only.
	Part string `yaml:"part,omitempty"`
	// A column of classes, which each fold has in the shares of the whole. Here and in group and time, a column that has role: ignore serves.
	Stratify string `yaml:"stratify,omitempty"`
	// A column whose equal values, for example a patient's, stay in one fold.
	Group string `yaml:"group,omitempty"`
	// A column of times (numbers, or dates such as 2006-01-02), or file_order: fold i holds out block i+1 of folds+1 blocks that follow each other, and trains on those before it.
	Time string `yaml:"time,omitempty"`
}

// Folding returns the split as a Folding.
func (s SplitSpec) Folding() Folding {
	return Folding{Folds: s.Folds, Stratify: s.Stratify, Group: s.Group, Time: s.Time}
}

// AugmentSpec names random changes to images, for training.
type AugmentSpec struct {
	// Zero pixels added on each side before a random crop to the old size.
	CropPadding int `yaml:"crop_padding,omitempty"`
	// Mirror left and right with probability 1/2.
	Flip bool `yaml:"flip,omitempty"`
	// Turn by up to as many degrees, either way.
	Rotate float64 `yaml:"rotate,omitempty"`
	// Multiply by 1 plus or minus up to this share, 0 to 1.
	Brightness float64 `yaml:"brightness,omitempty"`
	// The same of each pixel's distance from the mean of its channel.
	Contrast float64 `yaml:"contrast,omitempty"`
	// The same of each pixel's distance from grey, of images of 3 channels.
	Saturation float64 `yaml:"saturation,omitempty"`
	// Side of a square of zeros at a random place.
	Cutout int `yaml:"cutout,omitempty"`
	// RandAugment: operations drawn for each image, of uint8, before scale: identity, auto contrast, equalize, rotate, solarize, color, posterize, contrast, brightness, sharpness, shear and translate, each by x and y.
	RandAugment int `yaml:"rand_augment,omitempty"`
	// RandAugment: how strong they are, 0 to 30. Default 9.
	Magnitude int `yaml:"magnitude,omitempty"`
	// Mixup: alpha, for example 0.2. Examples of a batch are blended in pairs, labels too, by a share of the distribution Beta(alpha, alpha). For images, and for features and labels that are floats.
	Mixup float64 `yaml:"mixup,omitempty"`
	// CutMix: alpha, for example 1. A box of each image comes from another one of the batch, labels are mixed by its area. With mixup, each batch has one of both.
	CutMix float64 `yaml:"cutmix,omitempty"`
	// Number of classes of labels that are class ids, for mixup and cutmix, which make probabilities of them. Default: classes or n_classes of model.params.
	Classes int `yaml:"classes,omitempty"`
}

// DefaultSpec returns the spec of an empty section of a config file.
func DefaultSpec() Spec {
	return Spec{Delimiter: ",", Shard: "auto", BatchSize: 128, Prefetch: -1}
}

// formats are the known values of Spec.Format.
var formats = []string{"glyphs", "idx", "cifar10", "csv", "parquet", "arrow", "jsonl", "tfrecord", "images", "audio", "npy", "npz", "sql", "flight"}

// Formats returns the formats that Open reads.
func Formats() []string { return append(append([]string(nil), formats...), severalFormats...) }

func unknownFormat(name string) error {
	if name == "" {
		return fmt.Errorf("input has no format: set format to one of %s", strings.Join(Formats(), ", "))
	}
	return fmt.Errorf("unknown input format %q: expected one of %s", name, strings.Join(Formats(), ", "))
}
