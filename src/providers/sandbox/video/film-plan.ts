import type { VideoSize } from '../../video/video-size.ts';
import type { PictureRequest } from '../pictures/draw-picture.ts';

/** One still of a film. `begin` and `end` images fill the film's first and last picture as they are. */
export type Shot =
  | { kind: 'card' }
  | { kind: 'image'; place: 'begin' | 'between' | 'end'; /** A name in the film's folder. */ file: string };

/** The plan of a film, without its input images. Plain JSON. */
export interface FilmPlan extends VideoSize {
  /** The number of pictures. The length is this divided by `fps`. */
  frames: number;
  fps: number;
  codec: 'h264' | 'hevc';
  container: 'mp4' | 'mov';
  hasSound: boolean;
  hasLastFrame: boolean;
  /** In order, all of the same length. */
  shots: Shot[];
  card: Pick<PictureRequest, 'caption' | 'seed'>;
}
