export const aspectRatios = [
  'auto',
  '4:3',
  '3:4',
  '16:9',
  '9:16',
  '2:3',
  '3:2',
  '1:1',
  '4:5',
  '5:4',
  '21:9',
] as const;

export type AspectRatio = (typeof aspectRatios)[number];

/** A checked image to edit. The type is that of its bytes. */
export interface InputImage {
  bytes: Uint8Array<ArrayBuffer>;
  /** `image/png`, `image/jpeg` or `image/webp`. */
  contentType: string;
}

export interface ImageRequest {
  /** The route's upstream model. */
  model: string;
  prompt: string;
  aspectRatio: AspectRatio;
  /** Images that the prompt says how to edit. Empty: the image is made from text alone. */
  inputs: readonly InputImage[];
}

export interface GeneratedImage {
  bytes: Uint8Array;
  /** `image/png`, `image/jpeg` or `image/webp`, by the bytes' own magic number. */
  contentType: string;
  revisedPrompt: string | null;
}

/** A source of images. Throws ProviderError. */
export interface ImageProvider {
  generate(request: ImageRequest, options: { signal: AbortSignal }): Promise<GeneratedImage>;
}
