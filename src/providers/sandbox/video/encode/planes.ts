import type { VideoSize } from '../../../video/video-size.ts';

/** BT.709: how much red and blue count for brightness. */
const redShare = 0.2126;
const blueShare = 0.0722;
const greenShare = 1 - redShare - blueShare;
/** Video range: brightness from 16 to 235, colour differences 112 around 128. */
const brightnessRange = 219 / 255;
const blueRange = 112 / 255 / (1 - blueShare);
const redRange = 112 / 255 / (1 - redShare);

/** An I420 picture: a plane of brightness, then two of colour, each half as wide and high. The size must be even. */
const pictureBytes = ({ width, height }: VideoSize): number => (width * height * 3) / 2;

/** Turns 8-bit RGB into I420 by BT.709 in video range. The colour of four pixels is their mean. */
export const toPlanes = (rgb: Uint8Array, size: VideoSize): Uint8Array => {
  const { width, height } = size;
  const planes = new Uint8Array(pictureBytes(size));
  const pixels = width * height;
  const at = (index: number): number => rgb[index] ?? 0;
  for (let index = 0; index < pixels; index += 1) {
    const from = 3 * index;
    const bright = redShare * at(from) + greenShare * at(from + 1) + blueShare * at(from + 2);
    planes[index] = Math.round(16 + brightnessRange * bright);
  }
  let to = pixels;
  for (let y = 0; y < height; y += 2) {
    for (let x = 0; x < width; x += 2) {
      const upper = 3 * (y * width + x);
      const lower = upper + 3 * width;
      const mean = (channel: number): number =>
        (at(upper + channel) + at(upper + 3 + channel) + at(lower + channel) + at(lower + 3 + channel)) / 4;
      const [red, green, blue] = [mean(0), mean(1), mean(2)];
      const bright = redShare * red + greenShare * green + blueShare * blue;
      planes[to] = Math.round(128 + blueRange * (blue - bright));
      planes[to + pixels / 4] = Math.round(128 + redRange * (red - bright));
      to += 1;
    }
  }
  return planes;
};

/** The way back, for a picture that is to be an image file. */
export const toRgb = (planes: Uint8Array, { width, height }: VideoSize): Uint8Array => {
  const pixels = width * height;
  // Rounds and keeps to 0 to 255.
  const rgb = new Uint8ClampedArray(3 * pixels);
  for (let index = 0; index < pixels; index += 1) {
    const colour = pixels + ((index % width) >> 1) + (Math.floor(index / width) >> 1) * (width / 2);
    const bright = ((planes[index] ?? 0) - 16) / brightnessRange;
    const blue = bright + ((planes[colour] ?? 0) - 128) / blueRange;
    const red = bright + ((planes[colour + pixels / 4] ?? 0) - 128) / redRange;
    rgb[3 * index] = red;
    rgb[3 * index + 1] = (bright - redShare * red - blueShare * blue) / greenShare;
    rgb[3 * index + 2] = blue;
  }
  return new Uint8Array(rgb.buffer);
};

/** The middle of a picture, enlarged to its size; `zoom` is 1 or more. */
export const zoomed = (planes: Uint8Array, { width, height }: VideoSize, zoom: number): Uint8Array => {
  const result = new Uint8Array(planes.length);
  const pixels = width * height;
  const half = { width: width / 2, height: height / 2 };
  for (const [start, size] of [
    [0, { width, height }],
    [pixels, half],
    [pixels * 1.25, half],
  ] as const) {
    const end = start + size.width * size.height;
    zoomPlane(planes.subarray(start, end), result.subarray(start, end), { ...size, zoom });
  }
  return result;
};

/** Weights are in 256ths, so that the sums are whole numbers. */
const zoomPlane = (
  from: Uint8Array,
  to: Uint8Array,
  { width, height, zoom }: VideoSize & { zoom: number },
): void => {
  if (zoom === 1) {
    to.set(from);
    return;
  }
  const columns = placesIn(width, zoom);
  const rows = placesIn(height, zoom);
  for (let y = 0, at = 0; y < height; y += 1) {
    const upper = (rows.first[y] ?? 0) * width;
    const down = rows.share[y] ?? 0;
    for (let x = 0; x < width; x += 1, at += 1) {
      const corner = upper + (columns.first[x] ?? 0);
      const right = columns.share[x] ?? 0;
      const above = (from[corner] ?? 0) * (256 - right) + (from[corner + 1] ?? 0) * right;
      const below = (from[corner + width] ?? 0) * (256 - right) + (from[corner + width + 1] ?? 0) * right;
      to[at] = (above * (256 - down) + below * down + 32_768) >> 16;
    }
  }
};

/** For each sample of a row or column: the first of the two that it is made from, and the second's share in 256ths. */
const placesIn = (length: number, zoom: number): { first: Int32Array; share: Int32Array } => {
  const first = new Int32Array(length);
  const share = new Int32Array(length);
  for (let index = 0; index < length; index += 1) {
    const place = Math.max(0, (index + 0.5 - length / 2) / zoom + length / 2 - 0.5);
    first[index] = Math.min(Math.floor(place), length - 2);
    share[index] = Math.round((place - (first[index] ?? 0)) * 256);
  }
  return { first, share };
};
