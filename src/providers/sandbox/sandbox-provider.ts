import { z } from 'zod';
import type { ProviderDefinition } from '../provider.ts';

/** The provider that needs no upstream: it makes example answers in this process, at no cost. */
export const sandboxProvider: ProviderDefinition = {
  type: 'sandbox',
  text: 'chat, images and video without a model, for trials; a provider named `sandbox` is always there',
  settings: z.strictObject({}),
  serves: ['chat', 'image', 'video'],
  read: () => ({}),
  create: async (_config, { clock, counter, sandboxPieceDelayMs: pieceDelayMs }) => {
    const { createExampleMaker } = await import('./sandbox-text.ts');
    const { createSandboxImage } = await import('./sandbox-image.ts');
    const { createSandboxText } = await import('./sandbox-text.ts');
    const { createSandboxVideo } = await import('./sandbox-video.ts');
    const examples = createExampleMaker();
    const image = createSandboxImage();
    return {
      chat: createSandboxText({ counter, examples, ...(pieceDelayMs === undefined ? {} : { pieceDelayMs }) }),
      image,
      video: createSandboxVideo({ clock }),
      close: () => Promise.all([examples.close(), image.close()]),
    };
  },
};
