package inputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	stdimage "image"
	"image/color"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"

	"github.com/goestimator/goestimator/internal/format/jpeg"
	"github.com/goestimator/goestimator/internal/format/raster"
	"github.com/goestimator/goestimator/tensor"
)

const imageColumnType = tensor.Uint8

// maxPixels bounds decoded images, so that a small file cannot take all memory.
const maxPixels = 1 << 26

// maxImageFile bounds the size of an image file in bytes.
const maxImageFile = 1 << 28

// picture is a decoded image: rows of pixels, each of channels bytes.
type picture struct {
	h, w, channels int
	pixels         []byte
}

// readImage decodes a file in the given number of channels, 1 or 3.
func readImage(ctx context.Context, name string, channels int) (*picture, error) {
	data, err := readUpTo(ctx, name, maxImageFile)
	if err != nil {
		return nil, fileError(name, "image cannot be read: %w", err)
	}
	p, err := decodeImage(data, channels)
	if err != nil {
		return nil, fileError(name, "image cannot be decoded: %w", orSkip(err, "replace it, remove it, or set on_error to skip"))
	}
	return p, nil
}

var errImageKind = errors.New("it is not a PNG, JPEG, WebP, GIF or BMP image")

// decodeImage decodes an image, whose format its first bytes tell.
func decodeImage(data []byte, channels int) (*picture, error) {
	p := &picture{channels: channels}
	room := func(h, w, c int) ([]byte, error) {
		if h <= 0 || w <= 0 || h > maxPixels/w {
			return nil, fmt.Errorf("it has %d x %d pixels, more than %d", h, w, maxPixels)
		}
		p.h, p.w, p.pixels = h, w, make([]byte, h*w*c)
		return p.pixels, nil
	}
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		err := jpeg.Decode(data, jpeg.Options{Channels: channels}, room)
		return p, err
	case bytes.HasPrefix(data, []byte("\x89PNG")):
		err := raster.DecodePNG(data, channels, false, func() error { return nil }, func(h, w, c, _ int) ([]byte, error) { return room(h, w, c) })
		return p, err
	case len(data) > 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return p, p.decodeBy(webpCodec, data, room)
	case bytes.HasPrefix(data, []byte("GIF8")):
		return p, p.decodeGIF(data, room)
	case bytes.HasPrefix(data, []byte("BM")):
		return p, p.decodeBy(bmpCodec, data, room)
	}
	return nil, errImageKind
}

// codec decodes images of one format to images of the standard library.
type codec struct {
	kind   string
	header func(io.Reader) (stdimage.Config, error)
	image  func(io.Reader) (stdimage.Image, error)
}

var (
	webpCodec = codec{"WebP", webp.DecodeConfig, webp.Decode}
	bmpCodec  = codec{"BMP", bmp.DecodeConfig, bmp.Decode}
)

func (p *picture) decodeBy(c codec, data []byte, room func(h, w, c int) ([]byte, error)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged %s image: %v", c.kind, r)
		}
	}()
	head, err := c.header(bytes.NewReader(data))
	if err != nil {
		return err
	}
	out, err := room(head.Height, head.Width, p.channels)
	if err != nil {
		return err
	}
	im, err := c.image(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if im.Bounds().Dx() != p.w || im.Bounds().Dy() != p.h {
		return fmt.Errorf("it says %d x %d pixels and has %d x %d", p.h, p.w, im.Bounds().Dy(), im.Bounds().Dx())
	}
	p.fill(out, im)
	return nil
}

// decodeGIF decodes the first frame of an animation.
func (p *picture) decodeGIF(data []byte, room func(h, w, c int) ([]byte, error)) error {
	var colours []byte
	err := raster.DecodeGIF(data, true, func() error { return nil }, func(_, h, w int) (b []byte, err error) {
		colours, err = room(h, w, 3)
		return colours, err
	})
	if err != nil || p.channels == 3 {
		return err
	}
	p.pixels = make([]byte, p.h*p.w)
	for i := range p.pixels {
		p.pixels[i] = grey(colours[3*i], colours[3*i+1], colours[3*i+2])
	}
	return nil
}

func grey(r, g, b byte) byte {
	return color.GrayModel.Convert(color.NRGBA{r, g, b, 255}).(color.Gray).Y
}

// fill writes the pixels of a standard library image, ignoring transparency.
func (p *picture) fill(out []byte, im stdimage.Image) {
	b := im.Bounds()
	k := 0
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.NRGBAModel.Convert(im.At(x, y)).(color.NRGBA)
			if p.channels == 1 {
				out[k] = grey(c.R, c.G, c.B)
				k++
				continue
			}
			out[k], out[k+1], out[k+2] = c.R, c.G, c.B
			k += 3
		}
	}
}
