package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const (
	keysFile = "keys"
	homeFile = "home"

	maxFileSize = 64 << 10
)

const keysIntro = `# The key ring of this gateway: one key of 32 bytes in base64 on each line.
# The first key makes new ids and tokens; all of them check and open old ones.
# To rotate: put a new line at the top (openssl rand -base64 32), restart, and
# remove the old line once nothing made with it is in use any more.
`

// Open reads the key ring from the file keys in dir. At first use it makes
// the directory, for its owner only, and a ring of one random key. It refuses
// a file that anybody but its owner can read or write. Errors are for the
// operator: they name the file and what to do, and never show a key.
func Open(dir string) (*Ring, error) {
	path := filepath.Join(dir, keysFile)
	text, err := readOrCreate(path, func() []byte {
		line := base64.StdEncoding.EncodeToString(randomBytes(KeySize))
		return []byte(keysIntro + line + "\n")
	})
	if err != nil {
		return nil, fmt.Errorf("key ring: %w", err)
	}
	return parseRing(path, text)
}

// OpenExisting is Open for what needs a ring that was used before: it makes
// none.
func OpenExisting(dir string) (*Ring, error) {
	path := filepath.Join(dir, keysFile)
	text, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("key ring: there is no file %s: put the one of the gateway there; without it nothing that the gateway has sealed can be opened", path)
	}
	if err != nil {
		return nil, fmt.Errorf("key ring: %w", err)
	}
	return parseRing(path, text)
}

func parseRing(path string, text []byte) (*Ring, error) {
	keys, err := parseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("key ring %s: %w", path, err)
	}
	r, err := New(keys...)
	if err != nil {
		return nil, fmt.Errorf("key ring %s: %w", path, err)
	}
	return r, nil
}

func parseKeys(text []byte) ([][]byte, error) {
	var keys [][]byte
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		k, err := base64.StdEncoding.Strict().DecodeString(string(line))
		if err != nil || len(k) != KeySize {
			return nil, fmt.Errorf("line %d is not %d bytes in base64: correct or remove it", n, KeySize)
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errors.New("it has no key: restore it from a backup, or remove the file to begin with a new key, which makes everything sealed with the old one unreadable")
	}
	return keys, nil
}

// Home is the stable id of a gateway. It is no secret. The zero Home is
// nobody's.
type Home [homeSize]byte

// String gives the home as 16 hexadecimal digits.
func (h Home) String() string { return hex.EncodeToString(h[:]) }

// RandomHome makes a new home.
func RandomHome() Home { return Home(randomBytes(homeSize)) }

// OpenHome reads the home of the gateway from the file home in dir, which it
// makes at first use. Its file is guarded like the key ring's.
func OpenHome(dir string) (Home, error) {
	return openHome(HomeFile(dir), RandomHome())
}

// AdoptHome is OpenHome, but makes the file with the given home where there is
// none.
func AdoptHome(dir, home string) (Home, error) {
	h, err := parseHome([]byte(home))
	if err != nil {
		return Home{}, fmt.Errorf("gateway home: %q is not %d hexadecimal digits", home, 2*homeSize)
	}
	return openHome(HomeFile(dir), h)
}

// HomeFile is the file of a gateway's home.
func HomeFile(dir string) string { return filepath.Join(dir, homeFile) }

func openHome(path string, otherwise Home) (Home, error) {
	text, err := readOrCreate(path, func() []byte { return []byte(otherwise.String() + "\n") })
	if err != nil {
		return Home{}, fmt.Errorf("gateway home: %w", err)
	}
	h, err := parseHome(text)
	if err != nil {
		return Home{}, fmt.Errorf("gateway home: %s does not hold %d hexadecimal digits: restore it from a backup, or remove it to give this gateway a new home", path, 2*homeSize)
	}
	return h, nil
}

func parseHome(text []byte) (Home, error) {
	b, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(b) != homeSize || Home(b) == (Home{}) {
		return Home{}, errors.New("not a home")
	}
	return Home(b), nil
}

// readOrCreate reads a file that only its owner may touch, making it where it
// does not exist yet.
func readOrCreate(path string, content func() []byte) ([]byte, error) {
	text, err := readPrivate(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := createPrivate(path, content()); err != nil {
		return nil, err
	}
	// What is read back is what the next start will see, also where another
	// process made the file first.
	return readPrivate(path)
}

func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	// Windows has no permission bits; its directories inherit access lists.
	if perm := info.Mode().Perm(); perm&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s is open to other users (mode %04o): run chmod 600 %s, and make a new key if they may have read it", path, perm, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileSize {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFileSize)
	}
	return text, nil
}

// createPrivate puts the whole file in place, on disk, or nothing. A file that
// is there already stays as it is.
func createPrivate(path string, content []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	// Unlike a rename, a link never replaces what another process made.
	if err := os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		// A file system without links, where only rename is left.
		if err := os.Rename(f.Name(), path); err != nil {
			return fmt.Errorf("creating %s: %w", path, err)
		}
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}
