/**
 * The longest piece that is encoded at once, in UTF-16 units: the encoder's time grows with the square of a run without
 * breaks. Each cut adds at most one token.
 */
const sliceLength = 512;

/** The longest text that is counted whole, in UTF-16 units. Of a longer one, an evenly spread sample of this size is counted. */
export const wholeTextLength = 131_072;

export interface SlicedText {
  slices: string[];
  /** Factor for the tokens of the slices; above 1 when they are a sample. */
  scale: number;
}

/** Cuts a text, or a sample of it, into slices. The place of the sample depends on the length alone. */
export const sliceText = (text: string): SlicedText => {
  if (text.length <= wholeTextLength) return { slices: cut(text), scale: 1 };
  const sampleCount = wholeTextLength / sliceLength;
  const stride = text.length / sampleCount;
  const slices = Array.from({ length: sampleCount }, (_, index) => {
    const start = afterPair(text, Math.floor(index * stride));
    return text.slice(start, afterPair(text, start + sliceLength));
  });
  const sampled = slices.reduce((sum, slice) => sum + slice.length, 0);
  return { slices, scale: text.length / sampled };
};

const cut = (text: string): string[] => {
  const slices: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = afterPair(text, start + sliceLength);
    slices.push(text.slice(start, end));
    start = end;
  }
  return slices;
};

/** Moves `position` past a surrogate pair that it would cut in two. */
const afterPair = (text: string, position: number): number => {
  const unit = text.charCodeAt(position);
  const isLowSurrogate = unit >= 0xdc00 && unit <= 0xdfff;
  const before = text.charCodeAt(position - 1);
  return isLowSurrogate && before >= 0xd800 && before <= 0xdbff ? position + 1 : position;
};
