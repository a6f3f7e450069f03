import type { VideoInput } from '../providers/video/video-provider.ts';
import type { MediaLibrary } from './media-library.ts';

/** Converts a saved input to the adapters' form. `load` throws if its bytes are gone. */
export const toVideoInput =
  (library: Pick<MediaLibrary, 'read' | 'urlOf'>) =>
  ({ role, id, contentType }: Pick<VideoInput, 'role' | 'contentType'> & { id: string }): VideoInput => ({
    role,
    contentType,
    url: library.urlOf({ id, contentType }),
    load: async (signal) => {
      const stream = await library.read(id);
      if (stream === null) throw new Error(`the bytes of input ${id} are gone`);
      return Buffer.concat(await stream.toArray({ signal }));
    },
  });
