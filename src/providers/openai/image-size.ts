import type { AspectRatio } from '../image/image-provider.ts';
import { ratioProportion } from '../video/video-size.ts';

/** The sizes that a family of upstream models takes, and its name for a size of its own choice. */
interface SizeFamily {
  models: RegExp;
  sizes: readonly string[];
  /** Null: leave the size out. */
  auto: string | null;
}

const families: readonly SizeFamily[] = [
  { models: /dall-e-2/, sizes: ['1024x1024'], auto: null },
  { models: /dall-e-3/, sizes: ['1024x1024', '1792x1024', '1024x1792'], auto: null },
  { models: /gpt-image/, sizes: ['1024x1024', '1536x1024', '1024x1536'], auto: 'auto' },
];

const otherModels: Omit<SizeFamily, 'models'> = {
  sizes: ['1024x1024', '1536x1024', '1024x1536'],
  auto: null,
};

/** Returns the upstream's size nearest to a ratio; null to let the upstream choose. */
export const upstreamSize = (model: string, ratio: AspectRatio): string | null => {
  const { sizes, auto } = families.find((family) => family.models.test(model)) ?? otherModels;
  if (ratio === 'auto') return auto;
  const distance = (size: string): number =>
    Math.abs(Math.log(ratioProportion(size) / ratioProportion(ratio)));
  return [...sizes].sort((a, b) => distance(a) - distance(b))[0] ?? null;
};
