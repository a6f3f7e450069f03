import { textJobCostPerByte } from '../../limits/memory-budget.ts';
import { decodeBase64, isDataUri } from '../../media/data-uri.ts';
import { maxInputBytes } from '../../media/fetch-input.ts';
import { recognise, refuseInput } from '../../media/stream-input.ts';
import { isConverted } from '../../providers/content-type.ts';
import { checkInputs, takeAll } from '../media/take-inputs.ts';
import type { AccountCall, Services } from '../call.ts';
import type { ChatInput } from './chat-input.ts';

/** The deadline for all images of one request. */
const deadlineMs = 30_000;
const maxDownloads = 32;
/** The images of one request that are downloaded at once. Each may take 20 MB of memory. */
const atOnce = 4;
/** The limit of all images of one request, before conversion. They go upstream in one body. */
const maxMegabytesTogether = 48;

type Message = ChatInput['messages'][number];
type Part = Exclude<NonNullable<Message['content']>, string>[number];
type ImagePart = Part & { type: 'image_url' };

/** Returns the parts of all messages with their fields. */
const partsOf = (messages: readonly Message[]): { part: Part; param: string }[] =>
  messages.flatMap(({ content }, message) =>
    Array.isArray(content)
      ? content.map((part, index) => ({ part, param: `messages.${message}.content.${index}` }))
      : [],
  );

const base64Of = (url: string): string => url.slice(url.indexOf(',') + 1);

/**
 * Refuses pictures and sounds in messages that are not valid base64, and what is no picture, and names their fields, which an
 * upstream's own refusal would not do. Throws AppError `invalid_parameter`.
 */
export const checkInlineMedia = async (messages: readonly Message[]): Promise<void> => {
  for (const { part, param: place } of partsOf(messages)) {
    if (part.type === 'image_url' && isDataUri(part.image_url.url)) {
      const param = `${place}.image_url.url`;
      recognise(await decodeInline(base64Of(part.image_url.url), param), null, { kind: 'image', param });
    }
    if (part.type === 'input_audio') await decodeInline(part.input_audio.data, `${place}.input_audio.data`);
  }
};

const decodeInline = async (text: string, param: string): Promise<Buffer> => {
  if (text === '') throw refuseInput(param, 'is empty');
  const bytes = await decodeBase64(text);
  if (bytes === null) throw refuseInput(param, 'is not proper base64');
  return bytes;
};

/** The length of base64 that is enough to detect a type. */
const sniffedLength = 4_096;

/** Returns whether an image is remote, or has a type that is converted, whatever its declared type. */
const isTaken = (url: string): boolean =>
  !isDataUri(url) ||
  /^data:image\/(?:gif|avif);/i.test(url) ||
  isConverted(Buffer.from(base64Of(url.slice(0, sniffedLength)), 'base64'));

/** Returns the images that name an address, or have a type that is converted. */
const remoteImages = (messages: readonly Message[]): { part: ImagePart; param: string }[] =>
  partsOf(messages).flatMap(({ part, param }) =>
    part.type === 'image_url' && isTaken(part.image_url.url)
      ? [{ part, param: `${param}.image_url.url` }]
      : [],
  );

export const namesRemoteImages = (messages: readonly Message[]): boolean => remoteImages(messages).length > 0;

const limitedImages = (messages: readonly Message[]): ReturnType<typeof remoteImages> => {
  const images = remoteImages(messages);
  const excess = images[maxDownloads];
  if (excess === undefined) return images;
  throw refuseInput(
    excess.param,
    `is one too many: at most ${maxDownloads} images are downloaded or converted`,
  );
};

/** Refuses pictures and sounds as far as that can be done without reaching outside. Throws AppError. */
export const checkChatMedia = async (
  messages: readonly Message[],
  call: AccountCall,
  services: Pick<Services, 'fetchInput' | 'config'>,
): Promise<void> => {
  await checkInlineMedia(messages);
  const images = limitedImages(messages);
  if (images.length === 0) return;
  await checkInputs(
    images.map(({ part, param }) => ({ url: part.image_url.url, param, kind: 'image' })),
    call,
    services,
  );
};

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
  const images = limitedImages(messages);
  let bytesTogether = 0;
  const taken = await takeAll(images, {
    atOnce,
    deadlineMs,
    tooLate: ({ param }) => refuseInput(param, 'was not there in time; send fewer or smaller images'),
    signal,
    take: async ({ part, param }, ended): Promise<[Part, ImagePart]> => {
      const { accountId } = caller;
      const options = {
        kind: 'image' as const,
        maxBytes: maxInputBytes.image,
        param,
        signal: ended,
        accountId,
      };
      return fetchInput(part.image_url.url, options, async ({ bytes, contentType }) => {
        bytesTogether += bytes.byteLength;
        if (bytesTogether > maxMegabytesTogether * 1024 ** 2)
          throw refuseInput(param, `brings the images above ${maxMegabytesTogether} MB together`);
        await memory.take(bytes.byteLength * textJobCostPerByte, ended);
        const url = `data:${contentType};base64,${Buffer.from(bytes).toString('base64')}`;
        return [part, { ...part, image_url: { ...part.image_url, url } }];
      });
    },
  });
  signal.throwIfAborted();
  const byPart = new Map(taken);
  return messages.map((message) =>
    Array.isArray(message.content)
      ? { ...message, content: message.content.map((part) => byPart.get(part) ?? part) }
      : message,
  );
};
