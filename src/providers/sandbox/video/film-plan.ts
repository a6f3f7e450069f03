import type { VideoSize } from '../../video/video-size.ts';
import type { PictureRequest } from '../pictures/draw-picture.ts';

/** One still of a film. `begin` and `end` images fill the film's first and last picture as they are. */
export type Shot =
  | { kind: 'card' }
  | { kind: 'image'; place: 'begin' | 'between' | 'end'; /** A name in the film's folder. */ file: string };

/** All that a film is made from, beside the input images; plain JSON. */
export interface FilmPlan extends VideoSize {
  /** How many pictures it has: its length is this by `fps`. */
  frames: number;
  fps: number;
  codec: 'h264' | 'hevc';
  container: 'mp4' | 'mov';
  hasSound: boolean;
  hasLastFrame: boolean;
  /** In order, each as long as the others. */
  shots: Shot[];
  card: Pick<PictureRequest, 'caption' | 'seed'>;
}
