//go:build crash

package lossyfs

import (
	"context"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mount puts the disk at a directory. The server it gives is unmounted before
// the disk is mounted again.
func (d *Disk) Mount(dir string) (*fuse.Server, error) {
	never := time.Duration(0)
	return fs.Mount(dir, &node{disk: d, file: d.root}, &fs.Options{
		EntryTimeout: &never, AttrTimeout: &never, NegativeTimeout: &never,
		MountOptions:   fuse.MountOptions{DirectMountStrict: true, FsName: "lossyfs", Name: "lossyfs", DisableXAttrs: true, DisableSplice: true},
		RootStableAttr: &fs.StableAttr{Mode: syscall.S_IFDIR, Ino: d.root.id},
	})
}

// node is a file of the disk as the kernel knows it.
type node struct {
	fs.Inode
	disk *Disk
	file *file
}

// handle is a file that is open.
type handle struct{ synced bool }

// enter takes the lock, or says why nothing can be done.
func (n *node) enter(writes bool) syscall.Errno {
	n.disk.mu.Lock()
	e := syscall.Errno(0)
	switch {
	case n.disk.off:
		e = syscall.EIO
	case writes:
		e = n.disk.fault.Write
	}
	if e != 0 {
		n.disk.mu.Unlock()
	}
	return e
}

func (n *node) leave() { n.disk.mu.Unlock() }

func (f *file) kind() uint32 {
	if f.dir {
		return syscall.S_IFDIR
	}
	return syscall.S_IFREG
}

func (f *file) attr(a *fuse.Attr) {
	a.Ino, a.Mode, a.Nlink, a.Size = f.id, f.kind()|f.mode, 1, uint64(len(f.data))
	a.SetTimes(nil, &f.changed, &f.changed)
}

// child gives the kernel a node for a file.
func (n *node) child(ctx context.Context, f *file, out *fuse.EntryOut) *fs.Inode {
	f.attr(&out.Attr)
	return n.NewInode(ctx, &node{disk: n.disk, file: f}, fs.StableAttr{Mode: f.kind(), Ino: f.id})
}

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	if e := n.enter(false); e != 0 {
		return e
	}
	defer n.leave()
	out.Bsize, out.Frsize, out.Blocks, out.NameLen = 4096, 4096, 1<<24, 255
	if !n.disk.fault.Full {
		out.Bfree, out.Bavail = 1<<23, 1<<23
	}
	return 0
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := n.enter(false); e != 0 {
		return nil, e
	}
	defer n.leave()
	f := n.file.children[name]
	if f == nil {
		return nil, syscall.ENOENT
	}
	return n.child(ctx, f, out), 0
}

func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	if e := n.enter(false); e != 0 {
		return nil, e
	}
	defer n.leave()
	var all []fuse.DirEntry
	for name, f := range n.file.children {
		all = append(all, fuse.DirEntry{Name: name, Mode: f.kind(), Ino: f.id})
	}
	return fs.NewListDirStream(all), 0
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if e := n.enter(false); e != 0 {
		return e
	}
	defer n.leave()
	n.file.attr(&out.Attr)
	return 0
}

func (n *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if e := n.enter(true); e != 0 {
		return e
	}
	defer n.leave()
	if size, ok := in.GetSize(); ok {
		n.file.change(change{at: int64(size)})
	}
	if mode, ok := in.GetMode(); ok {
		n.file.mode = mode & 0o7777
	}
	n.file.attr(&out.Attr)
	return 0
}

func (n *node) add(ctx context.Context, name string, dir bool, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := n.enter(true); e != 0 {
		return nil, e
	}
	defer n.leave()
	if n.file.children[name] != nil {
		return nil, syscall.EEXIST
	}
	f := n.disk.make(dir, mode&0o7777)
	n.file.children[name], n.disk.stale = f, true
	return n.child(ctx, f, out), 0
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, true, mode, out)
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	i, e := n.add(ctx, name, false, mode, out)
	return i, opened(flags), fuse.FOPEN_DIRECT_IO, e
}

// opened says whether every write through this handle is to be synced.
func opened(flags uint32) *handle { return &handle{flags&syscall.O_DSYNC != 0} }

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if e := n.enter(false); e != 0 {
		return nil, 0, e
	}
	defer n.leave()
	if flags&syscall.O_TRUNC != 0 {
		n.file.change(change{})
	}
	return opened(flags), fuse.FOPEN_DIRECT_IO, 0
}

func (n *node) remove(name string, dir bool) syscall.Errno {
	if e := n.enter(true); e != 0 {
		return e
	}
	defer n.leave()
	f := n.file.children[name]
	switch {
	case f == nil:
		return syscall.ENOENT
	case dir && len(f.children) > 0:
		return syscall.ENOTEMPTY
	}
	delete(n.file.children, name)
	n.disk.stale = true
	return 0
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno { return n.remove(name, false) }
func (n *node) Rmdir(_ context.Context, name string) syscall.Errno  { return n.remove(name, true) }

func (n *node) Rename(_ context.Context, name string, parent fs.InodeEmbedder, newName string, _ uint32) syscall.Errno {
	if e := n.enter(true); e != 0 {
		return e
	}
	defer n.leave()
	to, ok := parent.(*node)
	f := n.file.children[name]
	if !ok || f == nil {
		return syscall.ENOENT
	}
	delete(n.file.children, name)
	to.file.children[newName] = f
	n.disk.stale = true
	return 0
}

func (n *node) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if e := n.enter(false); e != 0 {
		return nil, e
	}
	defer n.leave()
	if off >= int64(len(n.file.data)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(dest[:copy(dest, n.file.data[off:])]), 0
}

func (n *node) Write(_ context.Context, h fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	if e := n.enter(true); e != 0 {
		return 0, e
	}
	n.file.change(change{off, append([]byte{}, data...)})
	n.leave()
	if h, ok := h.(*handle); ok && h.synced {
		return uint32(len(data)), n.fsync()
	}
	return uint32(len(data)), 0
}

func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno { return n.fsync() }

func (n *node) fsync() syscall.Errno {
	if e := n.enter(false); e != 0 {
		return e
	}
	delay := n.disk.fault.Delay
	n.leave()
	if delay > 0 {
		<-time.After(delay)
	}
	if e := n.enter(false); e != 0 {
		return e
	}
	defer n.leave()
	if e := n.disk.fault.Sync; e != 0 {
		return e
	}
	n.disk.sync(n.file)
	return 0
}
