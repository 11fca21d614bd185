package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/goestimator/goestimator/internal/format/jpeg"
)

// The subject jpeg decodes images in memory to RGB. Its cases are image sizes.
var jpegCases = []string{"224x224", "500x375"}

const (
	jpegImages  = 16 // different images of each size, used in turn
	jpegQuality = 85
	jpegChecked = 97 // distance between the bytes of an image that are compared
)

func jpegField(_ context.Context, s settings, dir string) (field, error) {
	for _, size := range jpegCases {
		if err := drawImages(filepath.Join(dir, size), size); err != nil {
			return field{}, err
		}
	}
	argv, err := self("jpeg", dir)
	tf := s.peer("tf.data", "jpeg.py", dir)
	return field{contenders: []contender{{name: ours, argv: argv}, tf}, check: &tf, tolerance: 1e-6}, err
}

// drawImages writes images of waves of all lengths with noise; colours have half the resolution.
func drawImages(folder, size string) error {
	var width, height int
	if _, err := fmt.Sscanf(size, "%dx%d", &width, &height); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range jpegImages {
		b, err := drawImage(r, width, height)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%02d.jpg", i)), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func drawImage(r *rand.Rand, width, height int) ([]byte, error) {
	type wave struct{ x, y, phase, height float64 }
	var waves [3][12]wave
	for c := range waves {
		for i := range waves[c] {
			f := math.Exp2(float64(i)/2) / 100
			waves[c][i] = wave{f * r.NormFloat64(), f * r.NormFloat64(), 6 * r.Float64(), 40 / math.Exp2(float64(i)/3)}
		}
	}
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			var v [3]uint8
			for c := range v {
				sum := 128 + 3*r.NormFloat64()
				for _, w := range waves[c] {
					sum += w.height * math.Sin(w.x*float64(x)+w.y*float64(y)+w.phase)
				}
				v[c] = uint8(min(max(sum, 0), 255))
			}
			img.SetRGBA(x, y, color.RGBA{v[0], v[1], v[2], 255})
		}
	}
	var b bytes.Buffer
	err := stdjpeg.Encode(&b, img, &stdjpeg.Options{Quality: jpegQuality})
	return b.Bytes(), err
}

// jpegWorker decodes with our decoder, with the same heap floor as the server.
func jpegWorker(l *link, args []string) error {
	floor := make([]byte, 64<<20)
	defer runtime.KeepAlive(floor)
	images, values := map[string][][]byte{}, map[string][]float64{}
	for _, size := range jpegCases {
		files, err := filepath.Glob(filepath.Join(args[0], size, "*.jpg"))
		if err != nil {
			return err
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			images[size] = append(images[size], b)
		}
		px, err := decodeRGB(images[size][0])
		if err != nil {
			return err
		}
		for i := 0; i < len(px); i += jpegChecked {
			values[size] = append(values[size], float64(px[i]))
		}
	}
	return l.serve(reply{Values: values, Version: runtime.Version()}, func(c command) (reply, error) {
		of := images[c.name]
		before, begun := mallocs(), time.Now()
		for i := range c.steps {
			if _, err := decodeRGB(of[i%len(of)]); err != nil {
				return reply{}, err
			}
		}
		return reply{Seconds: time.Since(begun).Seconds(), Allocs: float64(mallocs()-before) / float64(c.steps)}, nil
	})
}

func decodeRGB(data []byte) (px []byte, err error) {
	err = jpeg.Decode(data, jpeg.Options{Channels: 3}, func(height, width, channels int) ([]byte, error) {
		px = make([]byte, height*width*channels)
		return px, nil
	})
	return px, err
}
