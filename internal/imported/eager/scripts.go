package eager

import (
	"cmp"
	"slices"
	"sync"
	"unicode"

	"github.com/goestimator/goestimator/tensor"
)

// scriptNumbers are ICU's numbers of scripts.
var scriptNumbers = map[string]int32{
	"Common": 0, "Inherited": 1, "Arabic": 2, "Armenian": 3, "Bengali": 4, "Bopomofo": 5, "Cherokee": 6, "Coptic": 7,
	"Cyrillic": 8, "Deseret": 9, "Devanagari": 10, "Ethiopic": 11, "Georgian": 12, "Gothic": 13, "Greek": 14, "Gujarati": 15,
	"Gurmukhi": 16, "Han": 17, "Hangul": 18, "Hebrew": 19, "Hiragana": 20, "Kannada": 21, "Katakana": 22, "Khmer": 23,
	"Lao": 24, "Latin": 25, "Malayalam": 26, "Mongolian": 27, "Myanmar": 28, "Ogham": 29, "Old_Italic": 30, "Oriya": 31,
	"Runic": 32, "Sinhala": 33, "Syriac": 34, "Tamil": 35, "Telugu": 36, "Thaana": 37, "Thai": 38, "Tibetan": 39,
	"Canadian_Aboriginal": 40, "Yi": 41, "Tagalog": 42, "Hanunoo": 43, "Buhid": 44, "Tagbanwa": 45, "Braille": 46, "Cypriot": 47,
	"Limbu": 48, "Linear_B": 49, "Osmanya": 50, "Shavian": 51, "Tai_Le": 52, "Ugaritic": 53, "Buginese": 55, "Glagolitic": 56,
	"Kharoshthi": 57, "Syloti_Nagri": 58, "New_Tai_Lue": 59, "Tifinagh": 60, "Old_Persian": 61, "Balinese": 62, "Batak": 63, "Brahmi": 65,
	"Cham": 66, "Egyptian_Hieroglyphs": 71, "Pahawh_Hmong": 75, "Old_Hungarian": 76, "Javanese": 78, "Kayah_Li": 79, "Lepcha": 82, "Linear_A": 83,
	"Mandaic": 84, "Meroitic_Hieroglyphs": 86, "Nko": 87, "Old_Turkic": 88, "Old_Permic": 89, "Phags_Pa": 90, "Phoenician": 91, "Miao": 92,
	"Vai": 99, "Cuneiform": 101, "Carian": 104, "Tai_Tham": 106, "Lycian": 107, "Lydian": 108, "Ol_Chiki": 109, "Rejang": 110, "Saurashtra": 111,
	"SignWriting": 112, "Sundanese": 113, "Meetei_Mayek": 115, "Imperial_Aramaic": 116, "Avestan": 117, "Chakma": 118, "Kaithi": 120, "Manichaean": 121,
	"Inscriptional_Pahlavi": 122, "Psalter_Pahlavi": 123, "Inscriptional_Parthian": 125, "Samaritan": 126, "Tai_Viet": 127, "Bamum": 130, "Lisu": 131, "Old_South_Arabian": 133,
	"Bassa_Vah": 134, "Duployan": 135, "Elbasan": 136, "Grantha": 137, "Mende_Kikakui": 140, "Meroitic_Cursive": 141, "Old_North_Arabian": 142, "Nabataean": 143,
	"Palmyrene": 144, "Khudawadi": 145, "Warang_Citi": 146, "Mro": 149, "Nushu": 150, "Sharada": 151, "Sora_Sompeng": 152, "Takri": 153,
	"Tangut": 154, "Anatolian_Hieroglyphs": 156, "Khojki": 157, "Tirhuta": 158, "Caucasian_Albanian": 159, "Mahajani": 160, "Ahom": 161, "Hatran": 162,
	"Modi": 163, "Multani": 164, "Pau_Cin_Hau": 165, "Siddham": 166, "Adlam": 167, "Bhaiksuki": 168, "Marchen": 169, "Newa": 170,
	"Osage": 171, "Masaram_Gondi": 175, "Soyombo": 176, "Zanabazar_Square": 177, "Dogra": 178, "Gunjala_Gondi": 179, "Makasar": 180, "Medefaidrin": 181,
	"Hanifi_Rohingya": 182, "Sogdian": 183, "Old_Sogdian": 184, "Elymaic": 185, "Nyiakeng_Puachue_Hmong": 186, "Nandinagari": 187, "Wancho": 188, "Chorasmian": 189,
	"Dives_Akuru": 190, "Khitan_Small_Script": 191, "Yezidi": 192,
}

// unknownScript is the number for characters without a script.
const unknownScript = 103

// scriptRange is a range of characters in one script.
type scriptRange struct {
	from, to rune
	number   int32
}

// scriptRanges are the sorted ranges of all scripts. None overlap.
var scriptRanges = sync.OnceValue(func() (all []scriptRange) {
	add := func(from, to, step rune, number int32) {
		if step == 1 {
			all = append(all, scriptRange{from, to, number})
			return
		}
		for ; from <= to; from += step {
			all = append(all, scriptRange{from, from, number})
		}
	}
	for name, number := range scriptNumbers {
		t := unicode.Scripts[name]
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride), number)
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride), number)
		}
	}
	slices.SortFunc(all, func(a, b scriptRange) int { return cmp.Compare(a.from, b.from) })
	return all
})

// scriptOf returns the number of a character's script, or -1 if r is not a character.
func scriptOf(r rune) int32 {
	if r < 0 || r > unicode.MaxRune {
		return -1
	}
	all := scriptRanges()
	i, found := slices.BinarySearchFunc(all, r, func(s scriptRange, r rune) int { return cmp.Compare(s.from, r) })
	if !found {
		i--
	}
	if i < 0 || r > all[i].to {
		return unknownScript
	}
	return all[i].number
}

func unicodeScript(c call) error {
	if err := want("input", c.t(0), tensor.Int32); err != nil {
		return err
	}
	dst, err := outputOf[int32](c, 0, c.t(0).Shape...)
	if err != nil {
		return err
	}
	for i, r := range tensor.Values[int32](c.t(0)) {
		dst[i] = scriptOf(r)
	}
	return nil
}
