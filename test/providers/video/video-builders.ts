import type { VideoInput, VideoRequest } from '../../../src/providers/video/video-provider.ts';

/** A request for four seconds at 480p, with what is different. */
export const videoRequest = (different: Partial<VideoRequest> = {}): VideoRequest => ({
  model: 'm',
  prompt: 'A harbour at dawn',
  inputs: [],
  seed: null,
  durationSeconds: 4,
  resolution: '480p',
  ratio: '16:9',
  generateAudio: true,
  nsfwCheck: false,
  returnLastFrame: false,
  outputFormat: 'mp4',
  ...different,
});

/** An input that was taken in. */
export const videoInput = (
  role: VideoInput['role'],
  contentType: string,
  bytes: Uint8Array = new Uint8Array(),
): VideoInput => ({
  role,
  contentType,
  url: `https://gateway.example/results/${role}`,
  load: () => Promise.resolve(bytes),
});
