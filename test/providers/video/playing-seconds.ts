import { Mp4Demuxer } from '@napi-rs/webcodecs';

/**
 * How long a player that knows nothing of our code shows pictures of an MP4 or MOV film: FFmpeg's demuxer reads it, edit
 * list and all. Pictures before time zero count, but for what an edit of a plain sample table hides in front; pictures
 * that show at the same time count one after the other. 0 when it cannot read the film.
 */
export const playingSeconds = async (film: Buffer): Promise<number> => {
  const pictures: { begin: number; end: number }[] = [];
  const demuxer = new Mp4Demuxer({
    videoOutput: ({ timestamp, duration }) =>
      pictures.push({ begin: timestamp / 1e6, end: (timestamp + (duration ?? 0)) / 1e6 }),
    error: () => {},
  });
  try {
    await demuxer.loadBuffer(new Uint8Array(film));
    if (demuxer.tracks.every(({ trackType }) => trackType !== 'video')) return 0;
    await demuxer.demuxAsync();
  } catch {
    return 0;
  } finally {
    demuxer.close();
  }
  if (pictures.length === 0) return 0;
  // The demuxer hands out what an edit hides, with times below zero.
  const begin = Math.min(0, Math.min(...pictures.map((picture) => picture.begin)) + hiddenSeconds(film));
  const shown = pictures
    .map((picture) => ({ begin: Math.max(picture.begin, begin), end: cutEnd(picture, editEnd(film)) }))
    .filter((picture) => picture.end > picture.begin);
  const span =
    Math.max(begin, ...shown.map(({ end }) => end)) - Math.min(...shown.map((picture) => picture.begin));
  return Math.max(
    span,
    shown.reduce((sum, picture) => sum + picture.end - picture.begin, 0),
  );
};

const cutEnd = ({ begin, end }: { begin: number; end: number }, cut: number): number =>
  begin < cut ? Math.min(end, cut) : end;

/** By the edit list of a film of one edit. A picture that the edit cuts ends there; FFmpeg's demuxer hands it out whole. */
const editEnd = (film: Buffer): number => {
  const edits = film.indexOf('elst');
  if (edits < 0 || film.includes('moof')) return Infinity;
  const end = film.readUInt32BE(edits + 12) / film.readUInt32BE(film.indexOf('mvhd') + 16);
  return end > 0 ? end : Infinity;
};

/** In front, by the edit list of a film of one edit. Nobody cuts fragments by it. */
const hiddenSeconds = (film: Buffer): number => {
  const edits = film.indexOf('elst');
  if (edits < 0 || film.includes('moof')) return 0;
  return Math.max(0, film.readInt32BE(edits + 16)) / film.readUInt32BE(film.indexOf('mdhd') + 16);
};
