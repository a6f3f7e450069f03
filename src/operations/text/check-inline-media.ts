import { decodeBase64 } from '../../media/base64-input.ts';
import { isDataUri } from '../../media/data-uri-input.ts';
import { refuseInput } from '../../media/refuse-input.ts';
import type { ChatInput } from '../chat/chat-input.ts';

/**
 * Refuses pictures and sounds in messages that are not valid base64, and names their fields, which an upstream's own
 * refusal would not do. Throws AppError `invalid_parameter`.
 */
export const checkInlineMedia = async (messages: ChatInput['messages']): Promise<void> => {
  for (const [message, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [index, part] of content.entries()) {
      const place = `messages.${message}.content.${index}`;
      if (part.type === 'image_url' && isDataUri(part.image_url.url))
        await checkBase64(
          part.image_url.url.slice(part.image_url.url.indexOf(',') + 1),
          `${place}.image_url.url`,
        );
      if (part.type === 'input_audio') await checkBase64(part.input_audio.data, `${place}.input_audio.data`);
    }
  }
};

const checkBase64 = async (text: string, param: string): Promise<void> => {
  if (text === '') throw refuseInput(param, 'is empty');
  if ((await decodeBase64(text)) === null) throw refuseInput(param, 'is not proper base64');
};
