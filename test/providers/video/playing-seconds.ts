import ffmpeg from '@libav.js/variant-webcodecs';

interface Picture {
  begin: number;
  end: number;
}

/**
 * How long a player that knows nothing of our code shows pictures of an MP4 or MOV film: FFmpeg's demuxer reads it, edit
 * list and all. Pictures before time zero count, but for what an edit of a plain sample table hides in front; pictures
 * that show at the same time count one after the other. 0 when it cannot read the film.
 */
export const playingSeconds = async (film: Buffer): Promise<number> => {
  const tracks = await demux(film).catch(() => []);
  return Math.max(0, ...tracks.map((pictures) => shownSeconds(film, pictures)));
};

const load = async () => {
  const libav = await ffmpeg.LibAV({ noworker: true });
  await libav.av_log_set_level(libav.AV_LOG_QUIET);
  return libav;
};
/** One for all films. */
let loading: ReturnType<typeof load> | null = null;

/** Reads the pictures of each track, in seconds. */
const demux = async (film: Buffer): Promise<Picture[][]> => {
  const libav = await (loading ??= load());
  try {
    await libav.writeFile('film', new Uint8Array(film));
    const [demuxer, streams] = await libav.ff_init_demuxer_file('film');
    const packet = await libav.av_packet_alloc();
    const [, packets] = await libav.ff_read_frame_multi(demuxer, packet);
    await libav.av_packet_free_js(packet);
    await libav.avformat_close_input_js(demuxer);
    return streams
      .filter(({ codec_type: type }) => type === libav.AVMEDIA_TYPE_VIDEO)
      .map(({ index, time_base_num: over, time_base_den: under }) =>
        (packets[index] ?? []).map(({ pts = 0, ptshi = 0, duration = 0 }) => {
          const begin = libav.i64tof64(pts, ptshi);
          return { begin: (begin * over) / under, end: ((begin + duration) * over) / under };
        }),
      );
  } catch (error) {
    // It may have stopped anywhere, and is not used again.
    loading = null;
    throw error;
  }
};

const shownSeconds = (film: Buffer, pictures: readonly Picture[]): number => {
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

const cutEnd = ({ begin, end }: Picture, cut: number): number => (begin < cut ? Math.min(end, cut) : end);

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
