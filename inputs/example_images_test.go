package inputs_test

import (
	"fmt"
	"image"
	"image/png"
	"log"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/inputs"
)

// A folder for each class, with images of any size.
func ExampleImageFolder() {
	dir, err := os.MkdirTemp("", "images")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"cat/1.png", "dog/1.png", "dog/2.png"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			log.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			log.Fatal(err)
		}
		if err := png.Encode(f, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
			log.Fatal(err)
		}
		if err := f.Close(); err != nil {
			log.Fatal(err)
		}
	}
	ds, err := inputs.ImageFolder(dir, inputs.Images{Height: 8, Width: 8, Channels: 1})
	if err != nil {
		log.Fatal(err)
	}
	classes, err := inputs.ImageClasses(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ds.Schema(), ds.Len(), classes)
	// Output:
	// image uint8[8 8 1] feature, label int64 label 3 [cat dog]
}

// Images that differ in each epoch, and are the same in each run.
func ExampleAugment() {
	src, err := inputs.Glyphs(1, 100, nil)
	if err != nil {
		log.Fatal(err)
	}
	changes := inputs.Augment(inputs.Augmentation{CropPadding: 2, Rotate: 10, Contrast: 0.2, Cutout: 4, Seed: 7})
	ds := inputs.Pipe(src, inputs.Repeat(3), inputs.Batch(32, true), inputs.ParallelMap(changes, 2), inputs.Prefetch(2))
	fmt.Println(ds.Schema())
	// Output:
	// image uint8[28 28 1] feature, label int64 label
}
