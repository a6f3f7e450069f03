/** A box as it stands in a file: its size, its name, what it holds. */
export const box = (name: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(body.length + 8);
  head.write(name, 4, 'latin1');
  return Buffer.concat([head, body]);
};

/** The boxes in it, each whole. */
export const split = (bytes: Buffer): Buffer[] => {
  const boxes: Buffer[] = [];
  for (let at = 0; bytes.length - at >= 8;) {
    const size = bytes.readUInt32BE(at);
    boxes.push(bytes.subarray(at, at + size));
    at += size;
  }
  return boxes;
};

export const nameOf = (whole: Buffer): string => whole.toString('latin1', 4, 8);

/**
 * The file with every box at `path` (such as `moov/trak/tkhd`) put in another form: `change` gets what it holds and gives
 * what stands in its place.
 */
export const editBoxes = (file: Buffer, path: string, change: (body: Buffer) => Buffer): Buffer => {
  const names = path.split('/');
  let changed = 0;
  const edit = (bytes: Buffer, depth: number): Buffer =>
    Buffer.concat(
      split(bytes).map((whole) => {
        if (nameOf(whole) !== names[depth]) return whole;
        const body = whole.subarray(8);
        if (depth < names.length - 1) return box(nameOf(whole), edit(body, depth + 1));
        changed += 1;
        return change(body);
      }),
    );
  const edited = edit(file, 0);
  if (changed === 0) throw new Error(`there is no ${path}`);
  return edited;
};

/** Like `editBoxes`, with a change of numbers within the box. */
export const writeInBoxes = (file: Buffer, path: string, write: (body: Buffer) => void): Buffer =>
  editBoxes(file, path, (body) => {
    const copy = Buffer.from(body);
    write(copy);
    return box(path.split('/').at(-1) ?? '', copy);
  });
