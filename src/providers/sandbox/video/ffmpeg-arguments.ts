import type { FilmPlan, Shot } from './film-plan.ts';

/** How much nearer a shot comes, or, where it ends the film, how much farther it began. */
const zoom = 0.04;
/** The shapes and colours of a screen, said in the file, so that players and encoders agree on them. */
const colours = ['-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709'];

/** What ffmpeg is told to make a film of stills, one file a shot, each of the film's own size. */
export const filmArguments = (plan: FilmPlan, stills: readonly string[], output: string): string[] => {
  const { frames, fps, shots } = plan;
  const lengths = shotLengths(frames, shots.length);
  const parts = shots.map((shot, index) => movingShot(plan, { shot, index, frames: lengths[index] ?? 1 }));
  const joined = shots.map((_shot, index) => `[s${index}]`).join('');
  const graph = [...parts, `${joined}concat=n=${shots.length}:v=1:a=0[v]`].join(';');
  return [
    ...stills.flatMap((file) => ['-i', file]),
    ...(plan.hasSound ? soundInput(frames / fps) : []),
    ...['-filter_complex', graph, '-map', '[v]'],
    ...(plan.hasSound ? ['-map', `${stills.length}:a`, '-c:a', 'aac', '-b:a', '96k'] : []),
    ...encoder(plan),
    ...colours,
    // By time: a limit in pictures would cut off the sound before its end.
    ...['-r', String(fps), '-t', String(frames / fps)],
    ...['-metadata', 'comment=Sandbox output: drawn, not made by a model'],
    ...['-movflags', '+faststart', '-progress', 'pipe:1', '-nostats', '-f', plan.container, output],
  ];
};

/** Decodes the film's end and writes each picture over the one before, so that the last one stays. */
export const lastFrameArguments = (film: string, output: string): string[] => [
  ...['-sseof', '-0.3', '-i', film, '-an', '-f', 'image2', '-update', '1'],
  ...['-c:v', 'png', '-compression_level', '3', output],
];

/** Whole pictures that add up to the film. */
const shotLengths = (frames: number, shots: number): number[] =>
  Array.from(
    { length: shots },
    (_, index) => Math.floor(((index + 1) * frames) / shots) - Math.floor((index * frames) / shots),
  );

/**
 * A still, slowly moving. Its exact picture, without a zoom, stands first; at the end of the film, last. Versions of
 * ffmpeg count `on` from 0 or from 1, so both ends are clamped.
 */
const movingShot = (
  { width, height, fps }: FilmPlan,
  { shot, index, frames }: { shot: Shot; index: number; frames: number },
): string => {
  const isEnd = shot.kind === 'image' && shot.place === 'end';
  const moved = isEnd ? `max(0,${frames - 1}-on)` : 'max(0,on-1)';
  const zoompan = [
    `z='1+${zoom}*${moved}/${frames}'`,
    "x='(iw-iw/zoom)/2'",
    "y='(ih-ih/zoom)/2'",
    `d=${frames}`,
    `s=${width}x${height}`,
    `fps=${fps}`,
  ].join(':');
  return `[${index}:v]scale=out_color_matrix=bt709:out_range=tv,format=yuv420p,zoompan=${zoompan},setsar=1[s${index}]`;
};

/** A soft chord. */
const soundInput = (seconds: number): string[] => {
  const tones = [220, 277.2, 329.6].map((hertz) => `sin(${hertz}*2*PI*t)`).join('+');
  const beating = [220.5, 277.6, 330].map((hertz) => `sin(${hertz}*2*PI*t)`).join('+');
  const fade = `min(1,min(t,${seconds}-t)/0.4)`;
  const channels = `0.07*${fade}*(${tones})|0.07*${fade}*(${beating})`;
  return ['-f', 'lavfi', '-t', String(seconds), '-i', `aevalsrc='${channels}':s=48000`];
};

/** Cheap settings; a key picture every two seconds. 4k takes half a gigabyte less without looking ahead. */
const encoder = ({ codec, fps }: FilmPlan): string[] => {
  const keyEvery = 2 * fps;
  if (codec === 'h264')
    return ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '24', '-g', String(keyEvery)];
  const settings = `log-level=error:keyint=${keyEvery}:rc-lookahead=4:bframes=0:frame-threads=1:ref=1:scenecut=0`;
  // Apple's players know HEVC by this tag alone.
  return [
    '-c:v',
    'libx265',
    '-preset',
    'ultrafast',
    '-crf',
    '30',
    '-x265-params',
    settings,
    '-tag:v',
    'hvc1',
  ];
};
