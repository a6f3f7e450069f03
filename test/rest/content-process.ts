import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { createDiskMedia } from '../../src/media/disk-media.ts';
import { silentLog } from '../../src/kit/log.ts';
import { listenOnLoopback } from '../mcp/listen-on-loopback.ts';
import { createContentServer, newMedia } from './serve-media.ts';

/**
 * A process that serves one sparse file as a video. Arguments: folder, size in bytes. Sends its address, then how many bytes
 * of memory it takes whenever it is asked.
 */
const [folder = '', size = '0'] = process.argv.slice(2);
const files = createDiskMedia(folder);
const media = newMedia(Number(size));
const options = { contentType: media.contentType, signal: new AbortController().signal };
await files.write(media.id, Buffer.from('x'), options);
await truncate(join(folder, media.id.slice(0, 2), media.id), Number(size));
const server = createContentServer({
  files,
  log: silentLog,
  streams: 100,
  media: new Map([[media.id, media]]),
  fileName: 'video.mp4',
});
const { url } = await listenOnLoopback(server);
process.on('message', () => process.send?.(process.memoryUsage().rss));
process.on('disconnect', () => process.exit(0));
process.send?.(`${url}/${media.id}`);
