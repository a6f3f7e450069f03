import { isDataUri } from '../../media/data-uri-input.ts';
import { textJobCostPerByte } from '../../limits/memory-budget.ts';
import { mostInputBytes } from '../../media/fetch-input.ts';
import { refuseInput } from '../../media/refuse-input.ts';
import { isConverted } from '../../providers/image/input-image-type.ts';
import type { ChatInput } from './chat-input.ts';
import type { AccountCall, Services } from '../operation.ts';

/** The deadline for all images of one request. */
const deadlineMs = 30_000;
const mostDownloads = 32;
/** The images of one request that are downloaded at once. Each may take 20 MB of memory. */
const fetchedAtOnce = 4;
/** The limit of all images of one request, before conversion. They go upstream in one body. */
const mostMegabytesTogether = 48;

type Message = ChatInput['messages'][number];
type Part = Exclude<NonNullable<Message['content']>, string>[number];
type ImagePart = Part & { type: 'image_url' };

/** An image part that names an address, or holds an image of a type that is converted, and its field. */
interface RemoteImage {
  part: ImagePart;
  param: string;
}

/** The length of base64 that is enough to detect a type. */
const sniffedLength = 4_096;

/** Returns whether an image is remote, or has a type that is converted, whatever its declared type. */
const isTaken = (url: string): boolean => {
  if (!isDataUri(url) || /^data:image\/(?:gif|avif);/i.test(url)) return true;
  const data = url.indexOf(',') + 1;
  return isConverted(Buffer.from(url.slice(data, data + sniffedLength), 'base64'));
};

const remoteImages = (messages: readonly Message[]): RemoteImage[] =>
  messages.flatMap(({ content }, message) =>
    Array.isArray(content)
      ? content.flatMap((part, index) =>
          part.type === 'image_url' && isTaken(part.image_url.url)
            ? [{ part, param: `messages.${message}.content.${index}.image_url.url` }]
            : [],
        )
      : [],
  );

export const namesRemoteImages = (messages: readonly Message[]): boolean => remoteImages(messages).length > 0;

/**
 * Returns the messages with every remote image downloaded into a data URI, and every GIF and AVIF converted. A model gets
 * bytes, never an address. The request holds the memory for them. Throws AppError, or the signal's reason when the client
 * disconnects.
 */
export const takeChatImages = async (
  messages: readonly Message[],
  {
    signal,
    caller,
    memory,
  }: Pick<AccountCall, 'signal' | 'memory'> & { caller: Pick<AccountCall['caller'], 'accountId'> },
  { fetchInput }: Pick<Services, 'fetchInput'>,
): Promise<Message[]> => {
  const images = remoteImages(messages);
  const excess = images[mostDownloads];
  if (excess !== undefined)
    throw refuseInput(
      excess.param,
      `is one too many: at most ${mostDownloads} images are downloaded or converted`,
    );
  const taken = new Map<Part, ImagePart>();
  const failed = new AbortController();
  const ended = AbortSignal.any([signal, failed.signal]);
  const timer = setTimeout(() => {
    const missing = images.find(({ part }) => !taken.has(part));
    if (missing !== undefined)
      failed.abort(refuseInput(missing.param, 'was not there in time; send fewer or smaller images'));
  }, deadlineMs);
  let bytesTogether = 0;

  const take = async ({ part, param }: RemoteImage): Promise<void> => {
    const { bytes, contentType } = await fetchInput(part.image_url.url, {
      kinds: ['image'],
      maxBytes: mostInputBytes.image,
      param,
      signal: ended,
      accountId: caller.accountId,
      keep: async (sizeBytes) => {
        bytesTogether += sizeBytes;
        if (bytesTogether > mostMegabytesTogether * 1024 ** 2)
          throw refuseInput(param, `brings the images above ${mostMegabytesTogether} MB together`);
        await memory.take(sizeBytes * textJobCostPerByte, ended);
      },
    });
    const url = `data:${contentType};base64,${Buffer.from(bytes).toString('base64')}`;
    taken.set(part, { ...part, image_url: { ...part.image_url, url } });
  };

  const waiting = images.values();
  const takeSome = async (): Promise<void> => {
    try {
      for (const image of waiting) await take(image);
    } catch (error) {
      failed.abort(error);
    }
  };
  await Promise.all(Array.from({ length: fetchedAtOnce }, takeSome));
  clearTimeout(timer);
  ended.throwIfAborted();
  return messages.map((message) =>
    Array.isArray(message.content)
      ? { ...message, content: message.content.map((part) => taken.get(part) ?? part) }
      : message,
  );
};
